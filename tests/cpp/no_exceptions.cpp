/* The wrapper in a program that is built without exceptions and without RTTI. */
#include "check.hpp"

using namespace seconder;

int main()
{
    std::string code;
    OpenOptions options;
    options.deliver = [&code](const Message &message) {
        code = message.code();
        return true;
    };
    // In memory, because a busy disk may take longer than the two seconds to wait after the fourth
    // wrong code, and the next call would not be rate limited.
    Result<Service> service = try_open("sandbox:?accept=right", nullptr, options);
    CHECK(service && service.error() == nullptr && service.status() == Status::ok);
    const Result<UserCreated> user =
        service->try_create_user("ada@example.com", "555-010-0123", "1");
    CHECK(user);
    CHECK(service->try_request_sms(user->user_id()));

    Result<Verification> wrong = service->try_verify(user->user_id(), "0000000");
    CHECK(!wrong && wrong.status() == Status::token_wrong);
    CHECK(wrong.error()->status() == Status::token_wrong);
    for (int more = 0; more < 3; ++more)
        CHECK(service->try_verify(user->user_id(), "0000000").status() == Status::token_wrong);
    CHECK(service->try_verify(user->user_id(), code).status() == Status::rate_limited);

    const Converse leaves = [](const Prompt &) { return Conversed::no_answer; };
    LoginOptions login;
    login.settings = {"users=directory"};
    CHECK(service->try_login("eve", leaves, login).status() == Status::login_unenrolled);

    CHECK(service->try_clear_sandbox());
    CHECK(service->try_user_status(user->user_id()).status() == Status::rejected);

    Result<Verification> form = service->try_verify(user->user_id(), "12345");
    CHECK(!form && form.status() == Status::token_malformed);
    CHECK(form.error()->parameter() == "token");
    CHECK(is_well_formed_token("123456"));
    CHECK(try_open("nonsense:").status() == Status::invalid_argument);

    Service moved = *std::move(service);
    CHECK(moved.get() != nullptr && moved.try_app_details());
    return 0;
}
