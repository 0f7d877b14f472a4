/* A login with a second factor, in C++: a code by SMS, a code of an app, or an approval on the
 * phone.
 *
 *     c++ -std=c++17 examples/login.cpp $(pkg-config --cflags --libs seconder) -o login
 *     ./login                                  # the service inside this program
 *     ./login https://2fa.example.com KEY ID   # a remote service, and a user's id there
 *
 * Without an SMS gateway, messages are written to files in the folder seconder.spool. A real
 * application does not echo passwords, and does not take the key as an argument. */
#include <seconder.hpp>

#include <cstdlib>
#include <iostream>
#include <string>

using seconder::Service;
using seconder::Status;

static std::string ask(const char *question)
{
    std::cout << question << std::endl;
    std::string answer;
    std::getline(std::cin, answer);
    return answer;
}

/* Stands in for the check of the password against the application's own accounts. */
static bool password_is_right(const std::string &password)
{
    return password == "correct horse battery staple";
}

/* Whether the user types the correct code. verify() returns only if the code is correct. */
static bool by_code(const Service &service, std::uint64_t user)
{
    for (int tries = 0; tries < 3; ++tries) {
        try {
            service.verify(user, ask("What is the code?"));
            return true;
        } catch (const seconder::Error &error) {
            switch (error.status()) {
            case Status::token_wrong:
            case Status::token_reused:
                std::cout << "That is not the code." << std::endl;
                break;
            case Status::token_malformed: /* Nothing was compared, so this is not a wrong code. */
                std::cout << "Please type the digits of the code." << std::endl;
                break;
            case Status::rate_limited: /* After wrong codes. what() says how long to wait. */
                if (error.is_operator_limit() || /* Of the application, or its key is wrong. */
                    error.service_code() == SECONDER_CODE_TOO_MANY_WRONG_KEYS)
                    throw;
                std::cout << error.what() << std::endl;
                break;
            default: /* A problem of the operator or the network, not a wrong code. */
                throw;
            }
        }
    }
    return false;
}

static bool by_sms(const Service &service, std::uint64_t user)
{
    if (service.request_sms(user).ignored()) /* Nothing is sent to a user who has an app. */
        std::cout << "Your app shows the code." << std::endl;
    return by_code(service, user);
}

/* Whether the user approves on the phone within a minute. */
static bool by_phone(const Service &service, std::uint64_t user)
{
    seconder::CreateApprovalOptions options;
    options.seconds_to_expire = 60; /* Expires with the login: a late approval has no effect. */
    options.number_digits = 2;      /* Only this login shows the number that approves it. */
    const auto request = service.create_approval(user, "Log in to Example?", options);
    if (!request.number().empty())
        std::cout << "Please type " << request.number() << " on your phone." << std::endl;
    else
        std::cout << "Please look at your phone." << std::endl;
    const auto answer = service.wait_for_approval(request.uuid(), user, std::chrono::seconds(60));
    if (answer.status() == seconder::ApprovalStatus::denied)
        std::cout << "It was denied on the phone." << std::endl;
    return answer.approved_by(user);
}

int main(int count, char **arguments)
{
    if (count != 1 && count != 4) {
        std::cerr << "usage: " << arguments[0] << " [URL KEY ID]" << std::endl;
        return 2;
    }
    try {
        const Service service = count > 3 ? seconder::open(arguments[1], arguments[2])
                                          : seconder::open("sqlite:seconder.db");
        /* This number is the program's own. One that a user types is verified first
         * (start_phone_verification), and enrolled with `new_only`: it may be somebody else's. */
        const std::uint64_t user =
            count > 3 ? std::stoull(arguments[3])
                      : service.create_user("ada@example.com", "555-010-0123", "1").user_id();
        if (!password_is_right(ask("Password?"))) {
            std::cout << "Access denied." << std::endl;
            return EXIT_FAILURE;
        }
        const std::string way = ask("By sms, by app or by phone?");
        const bool seconded = way == "phone" ? by_phone(service, user)
                              : way == "app" ? by_code(service, user)
                                             : by_sms(service, user);
        std::cout << (seconded ? "Welcome, Ada." : "Access denied.") << std::endl;
        return seconded ? EXIT_SUCCESS : EXIT_FAILURE;
    } catch (const seconder::Error &error) {
        /* The message is for the log; nobody was let in. */
        std::cerr << "second factor: " << error.what() << std::endl;
    } catch (const std::exception &error) {
        std::cerr << error.what() << std::endl;
    }
    return EXIT_FAILURE;
}
