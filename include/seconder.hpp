/* Written by tools/generate from include/seconder.hpp.in, src/calls/ and src/capi/. */
/* Seconder in C++17: the C interface of seconder.h with owners, options and exceptions.
 *
 * The rules at the top of seconder.h hold here too. The differences in C++ are:
 *
 * Owners      Every handle is owned by an object that can be moved but not copied, and that is as
 *             large as a pointer. get() returns the handle for use with the C interface, release()
 *             gives up ownership of it.
 * Failures    A call such as verify() throws a seconder::Error if it fails. Its counterpart
 *             try_verify(), which also describes the arguments and the failures, returns a Result
 *             instead. With -fno-exceptions only the latter exist; a program may contain files of
 *             both kinds, which can pass each other the handles of C.
 * Text in     is read before a call returns, and never kept. A text that contains a NUL is
 *             Status::invalid_argument, or Status::token_malformed for a code; it is not truncated
 *             there.
 * Text out    is a view into its owner, so it cannot be read from a temporary owner, which is gone
 *             at the end of the statement. It is NUL-terminated; its data() is nullptr if the
 *             service does not provide the text.
 * Options     An option that is 0 or has no value selects its default.
 * Functions   that the library calls may throw: an exception counts as a failure. */
#ifndef SECONDER_HPP
#define SECONDER_HPP

#include "seconder.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#if defined(__has_include)
#if __has_include(<version>)
#include <version>
#endif
#endif
#if defined(__cpp_lib_jthread)
#include <stop_token>
#endif

#if !defined(__cplusplus) || __cplusplus < 201703L
#error "seconder.hpp needs C++17 or later"
#endif

#if defined(__cpp_exceptions)
#define SECONDER_EXCEPTIONS 1
#define SECONDER_MODE with_exceptions
#else
#define SECONDER_EXCEPTIONS 0
#define SECONDER_MODE without_exceptions
#endif

namespace seconder {

// A program may contain files with exceptions and files without. If both used the same names, the
// linker would merge their inline functions, and a failure in a file with exceptions could abort
// the program instead of throwing.
inline namespace SECONDER_MODE {

/// The outcome of a call. New values may be added; ok is the only success.
enum class Status : std::int32_t {
    /// The call succeeded. From seconder_verify(), seconder_confirm_authenticator(),
    /// seconder_check_phone_verification() and seconder_totp_check() it means that the code was
    /// checked and is correct, from seconder_recognise() that the browser is recognised, and from
    /// seconder_login() that a code is correct or the user approved the login.
    ok = SECONDER_OK,
    /// The code is wrong, or is no longer valid: of a user, or of a number that
    /// seconder_check_phone_verification() checks.
    token_wrong = SECONDER_TOKEN_WRONG,
    /// The code was correct but has already been used.
    token_reused = SECONDER_TOKEN_REUSED,
    /// The code was not checked, because the user was never confirmed and `force` was not set.
    token_not_checked = SECONDER_TOKEN_NOT_CHECKED,
    /// The user typed something that cannot be a code: it has other characters than digits, or the
    /// wrong length. Nothing was sent and no code was compared, so it does not count as a wrong
    /// code: ask the user to type it again.
    token_malformed = SECONDER_TOKEN_MALFORMED,
    /// From seconder_recognise(): the browser is not recognised, so ask the user for the second
    /// factor.
    not_recognised = SECONDER_NOT_RECOGNISED,
    /// An argument is invalid, which is for the caller to fix. Nothing was sent and nothing was
    /// changed.
    invalid_argument = SECONDER_INVALID_ARGUMENT,
    /// The service does not accept the API key, which is for the operator to fix. It says nothing
    /// about the user, so a lock-out must not count it.
    unauthorized = SECONDER_UNAUTHORIZED,
    /// The service understood the call and rejected it.
    rejected = SECONDER_REJECTED,
    /// The call was rate limited: wait, then retry.
    rate_limited = SECONDER_RATE_LIMITED,
    /// The network or the service failed: there was no response in time.
    unavailable = SECONDER_UNAVAILABLE,
    /// The service's response could not be parsed, or contradicts itself. The URL may be wrong.
    invalid_response = SECONDER_INVALID_RESPONSE,
    /// A callback must not be trusted: it was not signed by the service with this API key, or a
    /// verifier found it stale or received before. No action is needed.
    invalid_callback = SECONDER_INVALID_CALLBACK,
    /// The database cannot be opened, read or written, or was removed or replaced while it was
    /// open, which is for the operator to fix. In the latter case, open the service again.
    storage = SECONDER_STORAGE,
    /// An internal error, for the developers of this library to fix.
    internal = SECONDER_INTERNAL,
    /// The stop function that was passed to seconder_wait_for_approval() ended that one wait.
    stopped = SECONDER_STOPPED,
    /// seconder_service_cancel() ended the call, as it does every call of the handle.
    /// seconder_error_retry_safe() says whether the request may have been sent.
    cancelled = SECONDER_CANCELLED,
    /// From seconder_login(): the user did not give a right code or approve the login, or the
    /// service or a limit of the application rejected the user.
    login_denied = SECONDER_LOGIN_DENIED,
    /// From seconder_login(): the user has too many wrong attempts, and may try again later.
    login_locked = SECONDER_LOGIN_LOCKED,
    /// From seconder_login(): the service does not know the user.
    login_unenrolled = SECONDER_LOGIN_UNENROLLED,
    /// From seconder_login(): the user cannot be asked, or has not answered.
    login_no_answer = SECONDER_LOGIN_NO_ANSWER,
    /// From seconder_login(): the configuration excepts the user or the network from the second
    /// factor. Nothing was checked.
    login_excepted = SECONDER_LOGIN_EXCEPTED,
    /// From seconder_login(): the user is unknown to the service, and the configuration says
    /// `unenrolled=ignore`; or the service could not be asked, and it says `on_trouble=ignore`.
    /// Nothing was checked.
    login_ignored = SECONDER_LOGIN_IGNORED,
    /// From seconder_login(): the configuration, the map of users or a file of theirs has errors,
    /// or the service does not accept the API key or this process, which is for the operator to
    /// fix.
    login_misconfigured = SECONDER_LOGIN_MISCONFIGURED,
};

/// The name of a status in C, such as "SECONDER_OK", for a log; "unknown" for a value that the
/// library does not know.
inline std::string_view name(Status status) noexcept
{
    return seconder_status_name(static_cast<seconder_status>(status));
}

/// The user's answer. Only approved lets anyone in.
enum class ApprovalStatus : std::int32_t {
    /// A status of an approval request that this library does not know. It does not let the user
    /// in.
    unknown = SECONDER_APPROVAL_UNKNOWN,
    /// Not answered yet.
    pending = SECONDER_APPROVAL_PENDING,
    /// The user approved the request. The only status that lets anyone in.
    approved = SECONDER_APPROVAL_APPROVED,
    /// The user denied the request.
    denied = SECONDER_APPROVAL_DENIED,
    /// The request expired before the user answered.
    expired = SECONDER_APPROVAL_EXPIRED,
};

/// The stage at which a call failed.
enum class Stage : std::int32_t {
    /// No stage: the error is not Status::unavailable.
    none = SECONDER_STAGE_NONE,
    /// The host name was being resolved.
    dns = SECONDER_STAGE_DNS,
    /// The connection was being established.
    connect = SECONDER_STAGE_CONNECT,
    /// The TLS handshake was under way and the service's certificate was being verified.
    tls = SECONDER_STAGE_TLS,
    /// The request may have been sent, in whole or in part.
    response = SECONDER_STAGE_RESPONSE,
    /// A code was being handed to the gateway or function that delivers it.
    delivery = SECONDER_STAGE_DELIVERY,
    /// The socket of a `unix:` URL may not be used by this process, or does not belong to a trusted
    /// service. Nothing was sent. Waiting does not help: an operator has to act.
    access = SECONDER_STAGE_ACCESS,
};

/// The kind of line behind a number.
enum class LineType : std::int32_t {
    unknown = SECONDER_DEFAULT,
    /// From a lookup function: the number is a mobile phone's.
    mobile = SECONDER_LINE_TYPE_MOBILE,
    /// From a lookup function: it is a landline's, which receives calls and no SMS.
    landline = SECONDER_LINE_TYPE_LANDLINE,
    /// From a lookup function: it is a VoIP number.
    voip = SECONDER_LINE_TYPE_VOIP,
    /// From a lookup function: anybody can use it for a while, such as one on a website that shows
    /// its messages.
    disposable = SECONDER_LINE_TYPE_DISPOSABLE,
};

/// The format of a remote service's responses.
enum class Format : std::int32_t {
    standard = SECONDER_DEFAULT,
    /// The remote service responds in JSON.
    json = SECONDER_FORMAT_JSON,
    /// The remote service responds in XML.
    xml = SECONDER_FORMAT_XML,
};

/// The generation of the interface to use with a remote service.
enum class Generation : std::int32_t {
    standard = SECONDER_DEFAULT,
    /// The current generation of the interface: the API key is sent in a header (interface 9).
    current = SECONDER_GENERATION_CURRENT,
    /// The older generation: the API key is sent as a parameter, and some replies use other names.
    older = SECONDER_GENERATION_OLDER,
};

/// The HTTP method with which an engine sends callbacks.
enum class CallbackMethod : std::int32_t {
    standard = SECONDER_DEFAULT,
    /// Callbacks are sent by POST, with a JSON body (interface 6).
    post = SECONDER_CALLBACK_METHOD_POST,
    /// Callbacks are sent by GET, with their parameters as the query of the URL.
    get = SECONDER_CALLBACK_METHOD_GET,
};

/// The calls that are retried if a remote service asks to wait.
enum class Repeats : std::int32_t {
    standard = SECONDER_DEFAULT,
    /// No call is retried: every request to wait is returned as Status::rate_limited.
    none = SECONDER_REPEATS_NONE,
    /// Calls that change nothing are retried: seconder_app_details(), seconder_user_status(),
    /// seconder_app_stats(), seconder_phone_info(), seconder_phone_verification_status(),
    /// seconder_check_approval(), seconder_find_user(), seconder_devices() and
    /// seconder_recognise().
    questions = SECONDER_REPEATS_QUESTIONS,
    /// Every call is retried. If a service asks to wait after it has already sent an SMS, it then
    /// sends a second one.
    all = SECONDER_REPEATS_ALL,
};

/// The hash with which an authenticator app's codes are generated.
enum class Algorithm : std::int32_t {
    standard = SECONDER_DEFAULT,
    /// HMAC-SHA-1, which every authenticator app supports (RFC 6238).
    sha1 = SECONDER_ALGORITHM_SHA1,
    /// HMAC-SHA-256.
    sha256 = SECONDER_ALGORITHM_SHA256,
    /// HMAC-SHA-512.
    sha512 = SECONDER_ALGORITHM_SHA512,
};

/// The kind of a Prompt, by which a Converse function shows it, asks or waits.
enum class PromptKind : std::int32_t {
    /// The kind of a prompt: a question. What the user types must not be seen.
    echo_off = SECONDER_PROMPT_ECHO_OFF,
    /// A question. What the user types may be seen.
    echo_on = SECONDER_PROMPT_ECHO_ON,
    /// A text that informs the user.
    info = SECONDER_PROMPT_INFO,
    /// A text about something that failed.
    error = SECONDER_PROMPT_ERROR,
    /// No text: the user is waited for, who may press Enter to give up an approval request.
    wait = SECONDER_PROMPT_WAIT,
    /// The password that the user typed in one field with the code (`first_pass=with_code`), for
    /// the program to check. It is not to be shown, and comes last, only if the second factor is
    /// right or not required.
    password = SECONDER_PROMPT_PASSWORD,
};

/// The result of a Converse function.
enum class Conversed : std::int32_t {
    /// From a converse function: the user can no longer answer. The login ends.
    no_answer = SECONDER_CONVERSE_NO_ANSWER,
    /// From a converse function: the text was shown, or the question was answered by
    /// seconder_prompt_set_answer(), or the user who is waited for has pressed Enter, or the
    /// program has taken the password.
    done = SECONDER_CONVERSE_DONE,
    /// From a converse function: the user has not answered yet, or not pressed Enter. The function
    /// is called again with the same prompt.
    not_yet = SECONDER_CONVERSE_NOT_YET,
};

/// The kind of a line for the operator.
enum class JournalKind : std::int32_t {
    /// To a journal function: the decision about a login and its reason.
    notice = SECONDER_JOURNAL_NOTICE,
    /// To a journal function: something that the operator has to mend.
    error = SECONDER_JOURNAL_ERROR,
};

/// In place of a number of seconds: no expiry.
inline constexpr std::int64_t forever = SECONDER_FOREVER;

namespace detail {

/// Not UTF-8, so every call rejects it with an error that names the argument.
inline constexpr const char *invalid_text = "\xFF";

inline const char *whole(const char *text, std::size_t size) noexcept
{
    return std::string_view(text).size() == size ? text : invalid_text;
}

inline const char *text(const std::optional<std::string> &given) noexcept
{
    return given ? whole(given->c_str(), given->size()) : nullptr;
}

inline const char *text_if(const std::string &given) noexcept
{
    return given.empty() ? nullptr : whole(given.c_str(), given.size());
}

inline std::vector<const char *> texts(const std::vector<std::string> &given)
{
    std::vector<const char *> list;
    list.reserve(given.size());
    for (const std::string &one : given)
        list.push_back(whole(one.c_str(), one.size()));
    return list;
}

inline std::string_view view(const char *text) noexcept
{
    return text ? std::string_view(text) : std::string_view();
}

/// A value that the service may not provide.
template <class T> std::optional<T> known(T value, bool is_known) noexcept
{
    return is_known ? std::optional<T>(value) : std::nullopt;
}

inline std::chrono::seconds seconds(std::uint64_t count) noexcept
{
    return std::chrono::seconds(static_cast<std::chrono::seconds::rep>(count));
}

/// The values of a list in C. A text becomes a view.
template <class Raw, class Item>
auto list(const Raw *handle, std::size_t (*count)(const Raw *),
          const Item *(*item)(const Raw *, std::size_t))
{
    using Value = std::conditional_t<std::is_same_v<Item, char>, std::string_view, const Item *>;
    std::vector<Value> values(count(handle));
    for (std::size_t i = 0; i < values.size(); ++i) {
        if constexpr (std::is_same_v<Item, char>)
            values[i] = view(item(handle, i));
        else
            values[i] = item(handle, i);
    }
    return values;
}

/// A handle that belongs to another one, if the service provides it.
template <class T> std::optional<T> part(const typename T::raw *handle) noexcept
{
    return handle == nullptr ? std::nullopt : std::optional<T>(*handle);
}

inline std::int32_t choice(std::optional<bool> made) noexcept
{
    if (!made)
        return SECONDER_DEFAULT;
    return *made ? SECONDER_YES : SECONDER_NO;
}

/// In C, 0 selects the default, and -1 is 0.
inline std::int32_t number_or_zero(std::optional<std::int32_t> given) noexcept
{
    if (!given)
        return SECONDER_DEFAULT;
    return *given == 0 ? -1 : *given;
}

/// A time that does not fit becomes the largest number, which calls reject.
inline std::uint32_t milliseconds(std::chrono::milliseconds time) noexcept
{
    const bool fits = time.count() >= 0 && time.count() <= UINT32_MAX;
    return fits ? static_cast<std::uint32_t>(time.count()) : UINT32_MAX;
}

/// A time in the past becomes 0.
inline std::uint32_t from_now(std::chrono::milliseconds time) noexcept
{
    return time.count() < 0 ? 0 : milliseconds(time);
}

/// Owns a handle of C.
template <class Raw, void (*Free)(Raw *)> class Handle {
public:
    using raw = Raw;

    /// Takes ownership of a handle of C.
    explicit Handle(Raw *handle) noexcept : handle_(handle) {}

    /// Returns the handle for use with the C interface, without giving up ownership. It is nullptr
    /// after a move.
    Raw *get() const noexcept { return handle_.get(); }

    /// Releases ownership of the handle: the caller must free it.
    [[nodiscard]] Raw *release() noexcept { return handle_.release(); }

private:
    struct Freed {
        void operator()(Raw *handle) const noexcept { Free(handle); }
    };
    std::unique_ptr<Raw, Freed> handle_;
};

/// Refers to a handle of C that belongs to another one.
template <class Raw> class View {
public:
    using raw = Raw;

    explicit View(const Raw &handle) noexcept : handle_(&handle) {}
    View(const View &) = default;
    View &operator=(const View &) = default;

    /// Returns the handle for use with the C interface.
    const Raw *get() const noexcept { return handle_; }

private:
    const Raw *handle_;
};

/// Refers to a handle of C that is valid while a function of the program runs.
template <class Raw> class Passed {
public:
    explicit Passed(const Raw *handle) noexcept : handle_(handle) {}
    Passed(const Passed &) = delete;
    Passed &operator=(const Passed &) = delete;

    const Raw *get() const noexcept { return handle_; }

private:
    const Raw *handle_;
};

} // namespace detail

/// A text argument: a literal, a string or a view. Only for parameters, because it does not keep
/// the text alive.
class Text {
public:
    Text(std::nullptr_t) noexcept : text_(nullptr) {}
    Text(const char *text) noexcept : text_(text) {}
    Text(const std::string &text) noexcept : text_(detail::whole(text.c_str(), text.size())) {}
    Text(std::string_view text) : held_(text), text_(detail::whole(held_.c_str(), held_.size()))
    {
        if (text.data() == nullptr)
            text_ = nullptr;
    }
    Text(const Text &) = delete;
    Text &operator=(const Text &) = delete;
    ~Text()
    {
        // It may have been a secret. The compiler must not remove the writes, hence the volatile
        // pointer.
        volatile char *const copy = held_.data();
        for (std::size_t i = 0; i < held_.size(); ++i)
            copy[i] = '\0';
    }

    const char *c_str() const noexcept { return text_; }

private:
    std::string held_ = {};
    const char *text_;
};

/// A field that the service, or the check of the arguments, found invalid.
struct FaultyField {
    std::string_view name;
    std::string_view text;
};

/// The reason that a call failed. what() describes it in English, for a log.
class Error : public std::exception {
public:
    /// Takes ownership of an error of C.
    Error(seconder_status status, seconder_error *error)
        : error_(error, seconder_error_free), status_(static_cast<Status>(status))
    {
    }

    // A move copies, because an error that was moved from would report that there is no error.
    Error(const Error &) noexcept = default;
    Error &operator=(const Error &) noexcept = default;

    const char *what() const noexcept override { return seconder_error_message(get()); }

    Status status() const noexcept { return status_; }

    std::string_view message() const & noexcept { return what(); }
    std::string_view message() const && = delete;

    /// The HTTP status of a rejection (interface 7), otherwise 0.
    std::int32_t http_status() const noexcept { return seconder_error_http_status(get()); }

    /// The service's own error code, such as "60026" (interface 7), for Status::rejected,
    /// Status::rate_limited, Status::unauthorized, Status::token_wrong and Status::token_reused.
    /// Empty for others, and if the service sent none. An engine in this process has the codes that
    /// a remote service sends.
    std::string_view service_code() const & noexcept
    {
        return detail::view(seconder_error_service_code(get()));
    }
    std::string_view service_code() const && = delete;

    /// The name of the limit that was reached, such as "cool_down", "wrong_codes" or "country_day",
    /// if the status is Status::rate_limited and the service says which: interface 8 lists them.
    /// Empty if not. Services of other projects do not say it, and a later version may have more
    /// names.
    std::string_view limit() const & noexcept { return detail::view(seconder_error_limit(get())); }
    std::string_view limit() const && = delete;

    /// Returns whether the limit that was reached is one of the whole application: "country_day",
    /// "application_day" or "key_rate". Its users cannot do anything about it, but the operator can
    /// raise it.
    bool is_operator_limit() const noexcept { return seconder_error_is_operator_limit(get()); }

    /// The service's own message, for Status::rejected, Status::rate_limited and
    /// Status::unauthorized. Empty for others. Its wording changes over the years, so decide on the
    /// status and on the service's code instead.
    std::string_view service_message() const & noexcept
    {
        return detail::view(seconder_error_service_message(get()));
    }
    std::string_view service_message() const && = delete;

    /// The stage at which the call failed, if the status is Status::unavailable: one of Stage;
    /// otherwise Stage::none.
    Stage stage() const noexcept { return static_cast<Stage>(seconder_error_stage(get())); }

    /// The name of the invalid argument or option, if the status is Status::invalid_argument or
    /// Status::token_malformed. Empty for others.
    std::string_view parameter() const & noexcept
    {
        return detail::view(seconder_error_parameter(get()));
    }
    std::string_view parameter() const && = delete;

    /// Returns whether the same call can be retried without the risk that it takes effect twice.
    bool retry_safe() const noexcept { return seconder_error_retry_safe(get()); }

    /// Returns whether the call failed because its time limit was reached.
    bool timed_out() const noexcept { return seconder_error_timed_out(get()); }

    /// The time to wait before a retry, in whole seconds, rounded up, as in the message; 0 if that
    /// is not known.
    std::chrono::seconds retry_after() const noexcept
    {
        return detail::seconds(seconder_error_retry_after(get()));
    }

    std::vector<FaultyField> fields() const &
    {
        std::vector<FaultyField> fields;
        for (std::size_t i = 0; i < seconder_error_field_count(get()); ++i)
            fields.push_back({detail::view(seconder_error_field_name(get(), i)),
                              detail::view(seconder_error_field_text(get(), i))});
        return fields;
    }
    std::vector<FaultyField> fields() const && = delete;

    /// Returns the error for use with the C interface, without giving up ownership. nullptr if
    /// there is only a status.
    const seconder_error *get() const noexcept { return error_.get(); }

private:
    // Shared, because an exception must be copyable.
    std::shared_ptr<const seconder_error> error_;
    Status status_;
};

namespace detail {

[[noreturn]] inline void raise([[maybe_unused]] const Error &error)
{
#if SECONDER_EXCEPTIONS
    throw error;
#else
    std::abort();
#endif
}

} // namespace detail

/// The value that a call returned, or its error. It converts to true only after Status::ok.
/// Accessing a value that is not there throws the error; with -fno-exceptions it aborts the
/// program.
template <class T> class [[nodiscard]] Result {
public:
    Result(T value) noexcept : state_(std::move(value)) {}
    Result(Error error) noexcept : state_(std::move(error)) {}

    explicit operator bool() const noexcept { return std::holds_alternative<T>(state_); }

    Status status() const noexcept
    {
        const Error *error = std::get_if<Error>(&state_);
        return error ? error->status() : Status::ok;
    }

    /// The error; nullptr if there is a value.
    const Error *error() const & noexcept { return std::get_if<Error>(&state_); }
    const Error *error() const && = delete;

    T &value() &
    {
        demand();
        return *std::get_if<T>(&state_);
    }
    const T &value() const &
    {
        demand();
        return *std::get_if<T>(&state_);
    }
    T value() &&
    {
        demand();
        return std::move(*std::get_if<T>(&state_));
    }
    const T &value() const && = delete;

    T &operator*() & { return value(); }
    const T &operator*() const & { return value(); }
    T operator*() && { return std::move(*this).value(); }
    const T &operator*() const && = delete;
    T *operator->() & { return &value(); }
    const T *operator->() const & { return &value(); }
    const T *operator->() const && = delete;

private:
    void demand() const
    {
        if (const Error *error = std::get_if<Error>(&state_))
            detail::raise(*error);
    }

    std::variant<Error, T> state_;
};

/// The outcome of a call that returns no value.
template <> class [[nodiscard]] Result<void> {
public:
    Result() noexcept = default;
    Result(Error error) noexcept : error_(std::move(error)) {}

    explicit operator bool() const noexcept { return !error_; }
    Status status() const noexcept { return error_ ? error_->status() : Status::ok; }
    const Error *error() const & noexcept { return error_ ? &*error_ : nullptr; }
    const Error *error() const && = delete;

    void value() const
    {
        if (error_)
            detail::raise(*error_);
    }

private:
    std::optional<Error> error_ = {};
};

namespace detail {

/// Makes a call that returns a handle.
template <class T, class Function, class... Arguments>
Result<T> call(Function function, Arguments... arguments)
{
    typename T::raw *out = nullptr;
    seconder_error *error = nullptr;
    const seconder_status status = function(arguments..., &out, &error);
    if (status != SECONDER_OK)
        return Error(status, error);
    return T(out);
}

/// Makes a call that returns only a status.
template <class Function, class... Arguments>
Result<void> run(Function function, Arguments... arguments)
{
    seconder_error *error = nullptr;
    const seconder_status status = function(arguments..., &error);
    if (status != SECONDER_OK)
        return Error(status, error);
    return Result<void>();
}

/// Runs a function of the program. An exception must not reach C: it is caught, its text is passed
/// to `report`, and `failed` is returned.
template <class Value, class Call, class Report>
Value within(Value failed, Call call, Report report) noexcept
{
#if SECONDER_EXCEPTIONS
    try {
        return call();
    } catch (const std::exception &exception) {
        report(exception.what());
    } catch (...) {
    }
    return failed;
#else
    static_cast<void>(failed);
    static_cast<void>(report);
    return call();
#endif
}

/// The same, and the text of an exception is lost.
template <class Value, class Call> Value within(Value failed, Call call) noexcept
{
    return within(std::move(failed), std::move(call), [](const char *) {});
}

template <class Function> void free_function(void *function) noexcept
{
    delete static_cast<Function *>(function);
}

} // namespace detail

/// A text that belongs to the caller. It is wiped when it is destroyed.
class OwnedText : public detail::Handle<seconder_text, seconder_text_free> {
public:
    using Handle::Handle;

    /// The characters of the text.
    std::string_view value() const & noexcept { return detail::view(seconder_text_value(get())); }
    std::string_view value() const && = delete;

    /// A copy, which is not wiped.
    std::string str() const { return std::string(detail::view(seconder_text_value(get()))); }
};

/// A message to a phone, valid while the Deliver function runs.
class Message : public detail::Passed<seconder_message> {
public:
    using Passed::Passed;

    /// Identifies the message: 16 hexadecimal digits. It is the same in each attempt to send the
    /// message, so that a provider can recognise one that it has accepted before.
    std::string_view id() const noexcept { return detail::view(seconder_message_id(get())); }

    /// The phone number, in E.164 format: +15550100123.
    std::string_view to() const noexcept { return detail::view(seconder_message_to(get())); }

    /// The channel: "sms" or "call".
    std::string_view via() const noexcept { return detail::view(seconder_message_via(get())); }

    /// The text to be read or heard.
    std::string_view text() const noexcept { return detail::view(seconder_message_text(get())); }

    /// The language of the text, with its region if it is known: "en-GB", "ar".
    std::string_view language() const noexcept
    {
        return detail::view(seconder_message_language(get()));
    }

    /// The code on its own, empty for the install message to a new user.
    std::string_view code() const noexcept { return detail::view(seconder_message_code(get())); }

    /// When the code expires, in Unix seconds; 0 if there is no code.
    std::uint64_t expires_at() const noexcept { return seconder_message_expires_at(get()); }
};

/// A callback on its way to the application, valid while the Post function runs.
class SignedCallback : public detail::Passed<seconder_signed_callback> {
public:
    using Passed::Passed;

    /// The method to send the callback by, "POST" or "GET" (the option `callback_method`).
    std::string_view method() const noexcept
    {
        return detail::view(seconder_signed_callback_method(get()));
    }

    /// The URL to send the callback to, without the query.
    std::string_view url() const noexcept
    {
        return detail::view(seconder_signed_callback_url(get()));
    }

    /// The query to send by GET, without the question mark; empty for a POST.
    std::string_view query() const noexcept
    {
        return detail::view(seconder_signed_callback_query(get()));
    }

    /// The bytes of the JSON body; empty for a GET.
    std::string_view body() const noexcept
    {
        return {static_cast<const char *>(seconder_signed_callback_body(get())),
                seconder_signed_callback_body_size(get())};
    }
    /// The names and values of the headers: the signature and its nonce, which are new in each
    /// attempt, and Seconder-Delivery with an id that is the same in all of them.
    std::vector<std::pair<std::string_view, std::string_view>> headers() const
    {
        std::vector<std::pair<std::string_view, std::string_view>> headers;
        for (std::size_t i = 0; i < seconder_signed_callback_header_count(get()); ++i)
            headers.emplace_back(
                detail::view(seconder_signed_callback_header_name(get(), i)),
                detail::view(seconder_signed_callback_header_value(get(), i)));
        return headers;
    }
};

/// A callback whose signature was verified, as passed to a Replay function.
struct ReplayEntry {
    /// Its signature, which covers the whole callback.
    std::string_view key;
    /// The `now` that was passed to verify(), in Unix seconds.
    std::uint64_t now;
    /// The last second at which it is fresh; 0 if it must be remembered forever.
    std::uint64_t until;
};

/// The outcome of an attempt to send a message or to post a callback. A bool converts to it: true
/// is sent(), and false means that a message has failed for good, and that a callback is posted
/// again. So does an exception.
///
/// After retry(), not_attempted() and ambiguous(), the call that requests the code succeeds, and
/// further attempts are made by Service::run_jobs(), which the program has to call.
class Outcome {
public:
    Outcome(bool accepted) noexcept : number_(accepted ? SECONDER_OUTCOME_SENT : -1) {}
    // Otherwise a pointer or a number would be a bool.
    template <class Other, class = std::enable_if_t<!std::is_same_v<std::decay_t<Other>, bool> &&
                                                    !std::is_same_v<std::decay_t<Other>, Outcome>>>
    Outcome(Other &&) = delete;

    /// It was accepted, with the id that the provider gave it, if any.
    static Outcome sent(std::string provider_id = {})
    {
        return Outcome(SECONDER_OUTCOME_SENT, std::move(provider_id), {}, {});
    }
    /// It was not accepted, and no attempt will succeed.
    static Outcome permanent(std::string reason = {})
    {
        return Outcome(SECONDER_OUTCOME_PERMANENT, {}, {}, std::move(reason));
    }
    /// The provider refuses the number, as one that does not exist or cannot be reached. The call
    /// is rejected with the code number_refused.
    static Outcome number_refused(std::string reason = {})
    {
        return Outcome(SECONDER_OUTCOME_NUMBER_REFUSED, {}, {}, std::move(reason));
    }
    /// It was not accepted. A later attempt may succeed, at the earliest after this time if one is
    /// given.
    static Outcome retry(std::optional<std::chrono::milliseconds> after = {},
                         std::string reason = {})
    {
        return Outcome(SECONDER_OUTCOME_RETRY, {}, after, std::move(reason));
    }
    /// Nothing was attempted, such as because no more messages are taken in this second. It counts
    /// as no attempt. The next one is made after this time, or after about a second.
    static Outcome not_attempted(std::optional<std::chrono::milliseconds> after = {},
                                 std::string reason = {})
    {
        return Outcome(SECONDER_OUTCOME_NOT_ATTEMPTED, {}, after, std::move(reason));
    }
    /// It may have been accepted, because the connection was lost before a response arrived.
    static Outcome ambiguous(std::string reason = {})
    {
        return Outcome(SECONDER_OUTCOME_AMBIGUOUS, {}, {}, std::move(reason));
    }

    /// The number for C, once the details are set there.
    std::int32_t report_to(const seconder_message *message) const noexcept
    {
        if (!provider_id_.empty())
            seconder_message_set_provider_id(message, provider_id_.c_str());
        if (after_)
            seconder_message_set_retry_after_ms(message, after_ms());
        if (!reason_.empty())
            seconder_message_set_reason(message, reason_.c_str());
        return number_;
    }
    std::int32_t report_to(const seconder_signed_callback *callback) const noexcept
    {
        if (after_)
            seconder_signed_callback_set_retry_after_ms(callback, after_ms());
        if (!reason_.empty())
            seconder_signed_callback_set_reason(callback, reason_.c_str());
        return number_;
    }

private:
    Outcome(std::int32_t number, std::string provider_id,
            std::optional<std::chrono::milliseconds> after, std::string reason)
        : number_(number), provider_id_(std::move(provider_id)), after_(after),
          reason_(std::move(reason))
    {
    }

    std::uint64_t after_ms() const noexcept
    {
        return after_->count() < 0 ? 0 : static_cast<std::uint64_t>(after_->count());
    }

    std::int32_t number_;
    std::string provider_id_ = {};
    std::optional<std::chrono::milliseconds> after_ = {};
    std::string reason_ = {};
};

/// Delivers a message to a phone, and returns the outcome. Many threads may run it at once.
using Deliver = std::function<Outcome(const Message &)>;
/// Posts a callback, and returns the outcome. Many threads may run it at once.
using Post = std::function<Outcome(const SignedCallback &)>;
/// The line behind a number, as far as it is known.
struct PhoneLine {
    std::optional<std::string> carrier = {};
    LineType kind = LineType::unknown;
    /// True if the number was ported from another carrier.
    std::optional<bool> ported = {};
};
/// Looks up a number, in E.164. std::nullopt, or an exception, if the look-up failed. Many threads
/// may run it at once.
using Lookup = std::function<std::optional<PhoneLine>(std::string_view number)>;

/// Atomically remembers a callback and returns whether it was received for the first time;
/// std::nullopt if that cannot be determined. Many threads may run it at once.
using Replay = std::function<std::optional<bool>(const ReplayEntry &)>;
/// Returns whether a wait is to end. An exception ends the wait too.
using Stop = std::function<bool()>;

/// The outcome of a call, as passed to a Log function.
struct CallRecord {
    Status status;
    /// One line without secrets, described at seconder_log. Valid while the function runs.
    std::string_view line;
    std::chrono::microseconds duration;
};

/// Logs a call. An exception is ignored. Many threads may run it at once.
using Log = std::function<void(const CallRecord &)>;

/// A text for a user who logs in, valid while the Converse function runs.
class Prompt : public detail::Passed<seconder_prompt> {
public:
    using Passed::Passed;

    PromptKind kind() const noexcept
    {
        return static_cast<PromptKind>(seconder_prompt_kind(get()));
    }
    /// The text to show, in English. A question ends with a space.
    std::string_view text() const noexcept { return detail::view(seconder_prompt_text(get())); }
    /// The longest time to wait for the user to press Enter, for PromptKind::wait.
    std::chrono::milliseconds wait() const noexcept
    {
        return std::chrono::milliseconds(seconder_prompt_wait_ms(get()));
    }
    /// Returns whether the function was called with it before, so that its text was shown.
    bool repeated() const noexcept { return seconder_prompt_repeated(get()); }
    /// Answers the question with what the user typed. The function then returns this result.
    [[nodiscard]] Conversed answer(const Text &typed) const noexcept
    {
        seconder_prompt_set_answer(get(), typed.c_str());
        return Conversed::done;
    }
};

/// Reaches the user who logs in: see seconder_converse. An exception is no answer, which ends the
/// login.
using Converse = std::function<Conversed(const Prompt &)>;

/// A line for the operator: the decision about a login, or something to mend.
struct JournalLine {
    JournalKind kind;
    /// Without secrets. Valid while the function runs.
    std::string_view text;
};

/// Writes a line for the operator. An exception is ignored.
using Journal = std::function<void(const JournalLine &)>;

namespace detail {

inline std::int32_t run_deliver(const seconder_message *message, void *function) noexcept
{
    const auto &deliver = *static_cast<const Deliver *>(function);
    // No constant of C: it failed.
    return within(
        std::int32_t{-1}, [&] { return deliver(Message(message)).report_to(message); },
        [&](const char *reason) { seconder_message_set_reason(message, reason); });
}

inline std::int32_t run_post(const seconder_signed_callback *callback, void *function) noexcept
{
    const auto &post = *static_cast<const Post *>(function);
    return within(
        std::int32_t{-1}, [&] { return post(SignedCallback(callback)).report_to(callback); },
        [&](const char *reason) { seconder_signed_callback_set_reason(callback, reason); });
}

inline std::int32_t run_lookup(const char *number, const seconder_phone_line *line,
                               void *function) noexcept
{
    const auto &lookup = *static_cast<const Lookup *>(function);
    return within(std::int32_t{-1}, [&] {
        const std::optional<PhoneLine> known = lookup(view(number));
        if (!known)
            return std::int32_t{-1};
        if (known->carrier)
            seconder_phone_line_set_carrier(line, known->carrier->c_str());
        seconder_phone_line_set_kind(line, static_cast<std::int32_t>(known->kind));
        seconder_phone_line_set_ported(line, choice(known->ported));
        return std::int32_t{0};
    });
}

inline std::int32_t run_replay(const seconder_replay_entry *seen, void *function) noexcept
{
    const auto &replay = *static_cast<const Replay *>(function);
    const std::optional<bool> first = within(std::optional<bool>(), [&] {
        return replay(ReplayEntry{view(seen->key), seen->now, seen->until});
    });
    return choice(first);
}

inline std::int32_t run_stop(void *function) noexcept
{
    const auto &stop = *static_cast<const Stop *>(function);
    return within(true, [&] { return stop(); }) ? 1 : 0;
}

inline std::int32_t run_converse(const seconder_prompt *prompt, void *function) noexcept
{
    const auto &converse = *static_cast<const Converse *>(function);
    return static_cast<std::int32_t>(
        within(Conversed::no_answer, [&] { return converse(Prompt(prompt)); }));
}

inline void run_journal(std::int32_t kind, const char *line, void *function) noexcept
{
    const auto &journal = *static_cast<const Journal *>(function);
    within(false, [&] {
        journal(JournalLine{static_cast<JournalKind>(kind), view(line)});
        return true;
    });
}

inline void run_log(seconder_status status, const char *line, std::uint64_t duration_us,
                    void *function) noexcept
{
    const auto &log = *static_cast<const Log *>(function);
    using Count = std::chrono::microseconds::rep;
    within(false, [&] {
        log(CallRecord{static_cast<Status>(status), view(line),
                       std::chrono::microseconds(static_cast<Count>(duration_us))});
        return true;
    });
}

} // namespace detail

/// The names that a service uses where the interface document says `svc`.
struct Names {
    std::optional<std::string> word = {};
    std::optional<std::string> push_path = {};
    std::optional<std::string> header_prefix = {};
    std::optional<std::string> id_field = {};
    std::optional<std::string> chrome_device = {};
};

/// Options of open(), documented in seconder_open_options.
struct OpenOptions {
    Names names = {};
    std::optional<std::string> operator_token = {};
    std::optional<std::string> ca_file = {};
    std::vector<std::string> pins = {};
    std::optional<std::string> client_certificate = {};
    std::optional<std::string> client_key = {};
    std::optional<std::string> proxy = {};
    std::vector<std::string> name_servers = {};
    std::optional<std::string> keyring = {};
    std::optional<std::string> application_name = {};
    std::optional<std::string> callback_url = {};
    std::optional<std::string> callback_ca_file = {};
    std::optional<std::string> install_link = {};
    std::optional<std::string> limits = {};
    std::optional<std::string> texts = {};
    std::optional<std::string> otp_domain = {};
    std::optional<std::string> plan = {};
    std::optional<std::string> logo = {};
    std::optional<std::string> push_hosts = {};
    std::chrono::milliseconds timeout = {};
    Repeats repeats = Repeats::standard;
    std::uint32_t service_uid = 0;
    Format format = Format::standard;
    Generation generation = Generation::standard;
    CallbackMethod callback_method = CallbackMethod::standard;
    std::optional<bool> callback_private = {};
    Generation replies = Generation::standard;
    std::optional<std::int32_t> offline_days = {};
    std::optional<bool> white_label = {};
    std::optional<bool> sms_enabled = {};
    std::optional<bool> force_codes = {};
    std::uint32_t approval_seconds = 0;
    std::uint32_t token_length = 0;
    std::uint32_t authenticator_digits = 0;
    std::uint32_t authenticator_period = 0;
    bool allow_loopback_http = false;
    bool nested_as_json = false;
    bool must_exist = false;
    Deliver deliver = {};
    Post post = {};
    Lookup lookup = {};
};

/// A logo to show with an approval request.
struct Logo {
    /// "default", "low", "med" or "high".
    std::string res = {};
    /// The URL of the picture.
    std::string url = {};
};

/// A login that was accepted while the service was unreachable.
struct OfflineLogin {
    /// The step of the code.
    std::uint64_t step = 0;
    /// When the code was accepted, in Unix seconds.
    std::uint64_t time = 0;
};

namespace detail {

inline seconder_logo raw(const Logo &given) noexcept
{
    seconder_logo c = {};
    c.res = text_if(given.res);
    c.url = text_if(given.url);
    return c;
}

inline seconder_offline_login raw(const OfflineLogin &given) noexcept
{
    seconder_offline_login c = {};
    c.step = given.step;
    c.time = given.time;
    return c;
}

template <class T> auto raw_list(const std::vector<T> &given)
{
    std::vector<decltype(raw(std::declval<const T &>()))> values;
    values.reserve(given.size());
    for (const T &one : given)
        values.push_back(raw(one));
    return values;
}

} // namespace detail

/// Options of create_user().
struct CreateUserOptions {
    /// Sends a new user a text message with a link to the app. Its outcome is
    /// UserCreated::install_message(). Default: true.
    std::optional<bool> send_install_link_via_sms = {};
    /// Rejects a number that a user has already, or, in a call without a number, the address of a
    /// user without one. Nothing is changed then. If a service does not say whether the user is
    /// new, the call fails with Status::invalid_response, though the service may have enrolled the
    /// user. Default: false, which returns that user.
    std::optional<bool> new_only = {};
};

/// Options of request_sms() and request_call().
struct RequestCodeOptions {
    /// Makes the code valid only for this action, which must also be passed to verify(). 1 to 128
    /// bytes without control characters.
    std::optional<std::string> action = {};
    /// The description of the action in the message. 1 to 1024 bytes.
    std::optional<std::string> action_message = {};
    /// The language of the message, such as "de". A service that lacks it uses its own. Default: as
    /// configured with the service.
    std::optional<std::string> locale = {};
    /// Sends the code even if the user has an app. Default: as configured with the service, no at
    /// first.
    std::optional<bool> force = {};
    /// The IP address from which the request originates, which a service may limit. IPv4 or IPv6
    /// text.
    std::optional<std::string> user_ip = {};
};

/// Options of verify().
struct VerifyOptions {
    /// Checks the code even if the user is not confirmed yet. If it is false, the code of such a
    /// user is not checked, which is Status::token_not_checked.
    bool force = true;
    /// The action that the code was sent for. 1 to 128 bytes without control characters.
    std::optional<std::string> action = {};
    /// The IP address from which the request originates. IPv4 or IPv6 text.
    std::optional<std::string> user_ip = {};
};

/// Options of delete_user(), app_details(), user_status(), app_stats(), phone_info() and
/// set_number().
struct CallOptions {
    /// The IP address from which the request originates. IPv4 or IPv6 text.
    std::optional<std::string> user_ip = {};
};

/// Options of register_activity().
struct RegisterActivityOptions {
    /// Additional data about the activity: a JSON object as text, at most 16 KiB. A remote service
    /// receives it as `nested_as_json` of seconder_open_options describes.
    std::optional<std::string> data = {};
    /// The user's IP address during the activity. IPv4 or IPv6 text.
    std::optional<std::string> user_ip = {};
};

/// Options of start_phone_verification().
struct StartPhoneVerificationOptions {
    /// The language of the message, such as "de". A service that lacks it uses its own. Default: as
    /// configured with the service.
    std::optional<std::string> locale = {};
    /// The number of digits of the code, 4 to 10. Default: as configured with the service.
    std::uint64_t code_length = 0;
    /// The IP address from which the request originates, which a service may limit. IPv4 or IPv6
    /// text.
    std::optional<std::string> user_ip = {};
};

/// Options of create_approval().
struct CreateApprovalOptions {
    /// Further details shown to the user: names and texts, without characters that XML cannot have.
    /// Other values reach a remote service as RegisterActivityOptions::data describes. A JSON
    /// object as text, at most 16 KiB.
    std::optional<std::string> details = {};
    /// Details not shown to the user, and returned to the application. Sent as `details` are. A
    /// JSON object as text, at most 16 KiB.
    std::optional<std::string> hidden_details = {};
    /// Logos to show, at most 16 KiB in JSON. If there are any, one must have `res` = "default".
    std::vector<Logo> logos = {};
    /// The time that the request remains open, in seconds, 1 to 315360000, or `forever`. Default:
    /// 86400.
    std::int64_t seconds_to_expire = 0;
    /// The number of digits of a number that the reply carries, the application shows, and the user
    /// has to type on the device to approve the request: 2, 3 or 6, or -1 for none. An engine
    /// raises a smaller number to the application's. Default: as the application has it, none at
    /// first.
    std::int64_t number_digits = 0;
};

/// Options of phone_verification_status().
struct PhoneVerificationStatusOptions {
    /// The id of the verification, from PhoneVerificationStarted::uuid(). 1 to 64 letters, digits
    /// and dashes of ASCII.
    std::optional<std::string> uuid = {};
    /// The number without its calling code, whose latest verification is meant. 4 to 15 digits in
    /// groups that dashes, periods or spaces may separate.
    std::optional<std::string> phone_number = {};
    /// The calling code of the number. "1" to "999".
    std::optional<std::string> country_code = {};
};

/// Options of enrol_authenticator().
struct EnrolAuthenticatorOptions {
    /// The label that the app shows with the code, without a colon. 1 to 1024 bytes. Default: the
    /// user's e-mail address, with a space for each colon.
    std::optional<std::string> label = {};
    /// The width and height of the QR code, 100 to 1000 pixels. Default: 300.
    std::uint64_t qr_size = 0;
};

/// Options of prepare_offline().
struct PrepareOfflineOptions {
    /// The number of days, 1 to 7, and at most as many as the service allows. Default: 3.
    std::uint64_t days = 0;
    /// The machine that keeps the hashes, for the service's records. 1 to 1024 bytes.
    std::optional<std::string> machine = {};
};

/// Options of report_offline().
struct ReportOfflineOptions {
    /// The machine, for the service's records. 1 to 1024 bytes.
    std::optional<std::string> machine = {};
};

/// Options of remember().
struct RememberOptions {
    /// The number of days, 1 to 400. Default: 30.
    std::uint64_t days = 0;
};

/// Options of invite_device().
struct InviteDeviceOptions {
    /// The width and height of the QR code, 100 to 1000 pixels. Default: 300.
    std::uint64_t qr_size = 0;
};

/// Options of wait_for_approval(), documented in seconder_wait_for_approval_options.
struct WaitForApprovalOptions {
    Stop stop = {};
    /// Also accepts a request whose user the service does not name. Check the answer with
    /// approved_unbound().
    bool unbound = false;
};

/// The decisions to read, documented in seconder_audit_options.
struct AuditOptions {
    /// 0 is everybody.
    std::uint64_t user_id = 0;
    /// In Unix seconds; 0 is from the first one on.
    std::uint64_t since = 0;
    /// In Unix seconds, and not included; 0 is up to the latest.
    std::uint64_t until = 0;
    std::optional<std::string> verdict = {};
    /// The value of next() of the page before.
    std::optional<std::string> after = {};
    /// 0 is the default, 100.
    std::uint64_t most = 0;
    std::optional<std::string> call = {};
    std::optional<std::string> user_ip = {};
    std::optional<std::string> operator_name = {};
};

/// Options of login(), documented in seconder_login_options.
struct LoginOptions {
    /// 0 is looked up.
    std::uint64_t user_id = 0;
    std::optional<std::string> remote = {};
    std::optional<std::string> program = {};
    std::optional<std::string> typed = {};
    std::optional<std::string> config_file = {};
    /// Such as "users=directory".
    std::vector<std::string> settings = {};
    Journal journal = {};
    bool holds_text_back = false;
    bool answered = false;
};

namespace detail {

inline Result<void> login(const seconder_service *service, const Text &login,
                          const Converse &converse, const LoginOptions &options)
{
    const std::vector<const char *> settings = texts(options.settings);
    seconder_login_options c = {};
    c.user_id = options.user_id;
    c.remote = text(options.remote);
    c.program = text(options.program);
    c.typed = text(options.typed);
    c.config_file = text(options.config_file);
    c.settings = settings.data();
    c.settings_count = settings.size();
    if (options.journal) {
        c.journal = run_journal;
        c.journal_userdata = const_cast<Journal *>(&options.journal);
    }
    c.holds_text_back = options.holds_text_back;
    c.answered = options.answered;
    return run(seconder_login, service, login.c_str(), converse ? run_converse : nullptr,
               const_cast<Converse *>(&converse), &c, sizeof c);
}

} // namespace detail

/// An enrolled user.
class UserCreated : public detail::Handle<seconder_user_created, seconder_user_created_free> {
public:
    using Handle::Handle;

    /// The id to store and to pass to the other calls.
    std::uint64_t user_id() const noexcept { return seconder_user_created_user_id(get()); }

    /// Returns whether the call enrolled the user. False for a user who was there before, who may
    /// be another person than the one who typed the number. std::nullopt if the service does not
    /// say: only a service of Seconder does.
    std::optional<bool> created() const noexcept
    {
        return detail::known(seconder_user_created_created(get()),
                             seconder_user_created_created_known(get()));
    }

    /// The service's message.
    std::string_view message() const & noexcept
    {
        return detail::view(seconder_user_created_message(get()));
    }
    std::string_view message() const && = delete;

    /// The outcome of the text message with a link to the app. "sent": it was sent; "queued": it
    /// could not be sent yet, and is attempted again; "not_configured": it is not sent, because the
    /// application has no link to an app, or SMS is not enabled for it; "not_requested": it is not
    /// sent, because the call does not request it, or the user was there before; "failed": it could
    /// not be sent. Empty if the service does not say: only a service of Seconder does.
    std::string_view install_message() const & noexcept
    {
        return detail::view(seconder_user_created_install_message(get()));
    }
    std::string_view install_message() const && = delete;
};

/// A code that was sent, or was not needed.
class CodeRequested : public detail::Handle<seconder_code_requested, seconder_code_requested_free> {
public:
    using Handle::Handle;

    /// The service's message.
    std::string_view message() const & noexcept
    {
        return detail::view(seconder_code_requested_message(get()));
    }
    std::string_view message() const && = delete;

    /// The number used, masked: "+1-XXX-XXX-XX23".
    std::string_view cellphone() const & noexcept
    {
        return detail::view(seconder_code_requested_cellphone(get()));
    }
    std::string_view cellphone() const && = delete;

    /// Returns whether nothing was sent because the user has an app and the code was not forced.
    bool ignored() const noexcept { return seconder_code_requested_ignored(get()); }

    /// The user's latest device, if the request was ignored.
    std::string_view device() const & noexcept
    {
        return detail::view(seconder_code_requested_device(get()));
    }
    std::string_view device() const && = delete;

    /// After how many seconds another request for the same action by the same channel is accepted,
    /// even if the code is not used. std::nullopt if nothing was sent, or if the service does not
    /// say: only a service of Seconder does.
    std::optional<std::chrono::seconds> resend_after() const noexcept
    {
        return detail::known(detail::seconds(seconder_code_requested_resend_after(get())),
                             seconder_code_requested_resend_after_known(get()));
    }
};

/// The reply for a code that was checked and is correct. Any other outcome returns none.
class Verification : public detail::Handle<seconder_verification, seconder_verification_free> {
public:
    using Handle::Handle;

    /// The service's message.
    std::string_view message() const & noexcept
    {
        return detail::view(seconder_verification_message(get()));
    }
    std::string_view message() const && = delete;

    /// The device that generated or received the code, if the service provides it (interface 2.5).
    /// nullptr if the service does not provide it.
    const seconder_device_info *device() const & noexcept
    {
        return seconder_verification_device(get());
    }
    const seconder_device_info *device() const && = delete;
};

/// The reply to a call that returns only a message.
class Done : public detail::Handle<seconder_done, seconder_done_free> {
public:
    using Handle::Handle;

    /// The service's message.
    std::string_view message() const & noexcept
    {
        return detail::view(seconder_done_message(get()));
    }
    std::string_view message() const && = delete;
};

/// The service's record of an application (interface 2.3).
class Application : public detail::Handle<seconder_application, seconder_application_free> {
public:
    using Handle::Handle;

    /// The application's number.
    std::uint64_t app_id() const noexcept { return seconder_application_app_id(get()); }

    /// The name shown to users in messages.
    std::string_view name() const & noexcept
    {
        return detail::view(seconder_application_name(get()));
    }
    std::string_view name() const && = delete;

    /// The application's plan with the service.
    std::string_view plan() const & noexcept
    {
        return detail::view(seconder_application_plan(get()));
    }
    std::string_view plan() const && = delete;

    /// Returns whether codes can be sent by SMS.
    bool sms_enabled() const noexcept { return seconder_application_sms_enabled(get()); }

    /// Returns whether codes can be sent by voice call.
    bool phone_calls_enabled() const noexcept
    {
        return seconder_application_phone_calls_enabled(get());
    }

    /// Returns whether approval requests can be sent.
    bool push_enabled() const noexcept { return seconder_application_push_enabled(get()); }

    /// Returns whether the application's own app is used.
    bool white_label() const noexcept { return seconder_application_white_label(get()); }

    /// The service's message.
    std::string_view message() const & noexcept
    {
        return detail::view(seconder_application_message(get()));
    }
    std::string_view message() const && = delete;
};

/// The factors of a user (interface 2.7). None of these is a secret. A service that leaves one of
/// them out says nothing: an empty list would mean that the user has none.
///
/// The object refers to the reply that it is read from, and must not outlive it.
class Factors : public detail::View<seconder_factors> {
public:
    using View::View;

    /// Returns whether codes can be sent to the user's number by SMS.
    bool sms() const noexcept { return seconder_factors_sms(get()); }

    /// The user's authenticator apps, oldest first: at most one that is confirmed, and one that is
    /// pending.
    std::vector<const seconder_authenticator *> authenticators() const
    {
        return detail::list(get(), seconder_factors_authenticator_count,
                            seconder_factors_authenticator);
    }

    /// The devices that the user has registered for approval requests, oldest first.
    std::vector<const seconder_registered_device *> devices() const
    {
        return detail::list(get(), seconder_factors_device_count, seconder_factors_device);
    }

    /// The number of recovery codes that the user has left.
    std::uint64_t recovery_codes() const noexcept { return seconder_factors_recovery_codes(get()); }

    /// Returns whether codes by SMS and voice are not checked, after too many wrong ones in a row,
    /// until unlock_user(); false if the service does not say.
    bool codes_locked() const noexcept { return seconder_factors_codes_locked(get()); }

    /// Returns whether the codes of authenticator apps are not checked, until unlock_user().
    bool authenticators_locked() const noexcept
    {
        return seconder_factors_authenticators_locked(get());
    }

    /// Returns whether recovery codes are not checked, until unlock_user().
    bool recovery_codes_locked() const noexcept
    {
        return seconder_factors_recovery_codes_locked(get());
    }
};

/// The service's record of a user (interface 2.2).
class UserStatusReply
    : public detail::Handle<seconder_user_status_reply, seconder_user_status_reply_free> {
public:
    using Handle::Handle;

    /// The user's id.
    std::uint64_t user_id() const noexcept { return seconder_user_status_reply_user_id(get()); }

    /// Returns whether the user has used a valid code.
    bool confirmed() const noexcept { return seconder_user_status_reply_confirmed(get()); }

    /// Returns whether the user has registered an app.
    bool registered() const noexcept { return seconder_user_status_reply_registered(get()); }

    /// The calling code of the user's number.
    std::uint64_t country_code() const noexcept
    {
        return seconder_user_status_reply_country_code(get());
    }

    /// The user's number, masked: "XXX-XXX-0123".
    std::string_view phone_number() const & noexcept
    {
        return detail::view(seconder_user_status_reply_phone_number(get()));
    }
    std::string_view phone_number() const && = delete;

    /// The types of device that generate or receive codes: "android", "android_tablet", "ios",
    /// "svc_chrome", "sms".
    std::vector<std::string_view> devices() const &
    {
        return detail::list(get(), seconder_user_status_reply_device_count,
                            seconder_user_status_reply_device);
    }
    std::vector<std::string_view> devices() const && = delete;

    /// Returns whether the user has a hardware token.
    bool has_hard_token() const noexcept
    {
        return seconder_user_status_reply_has_hard_token(get());
    }

    /// Returns whether the user's account is disabled.
    bool account_disabled() const noexcept
    {
        return seconder_user_status_reply_account_disabled(get());
    }

    /// The factors that protect the account. std::nullopt if the service does not say: only a
    /// service of Seconder does.
    std::optional<Factors> factors() const & noexcept
    {
        return detail::part<Factors>(seconder_user_status_reply_factors(get()));
    }
    std::optional<Factors> factors() const && = delete;

    /// When the user was created, in Unix seconds. 0 if the service does not say: only a service of
    /// Seconder does.
    std::int64_t created_at() const noexcept
    {
        return seconder_user_status_reply_created_at(get());
    }

    /// The service's message.
    std::string_view message() const & noexcept
    {
        return detail::view(seconder_user_status_reply_message(get()));
    }
    std::string_view message() const && = delete;
};

/// The application's usage.
class Statistics : public detail::Handle<seconder_statistics, seconder_statistics_free> {
public:
    using Handle::Handle;

    /// The application's number.
    std::uint64_t app_id() const noexcept { return seconder_statistics_app_id(get()); }

    /// The number of months, as the service counts them.
    std::uint64_t count() const noexcept { return seconder_statistics_count(get()); }

    /// The service's message.
    std::string_view message() const & noexcept
    {
        return detail::view(seconder_statistics_message(get()));
    }
    std::string_view message() const && = delete;

    /// The months, oldest first.
    std::vector<const seconder_monthly_statistic *> stats() const &
    {
        return detail::list(get(), seconder_statistics_stat_count, seconder_statistics_stat);
    }
    std::vector<const seconder_monthly_statistic *> stats() const && = delete;

    /// The current number of the application's users.
    std::uint64_t total_users() const noexcept { return seconder_statistics_total_users(get()); }
};

/// A verification that was started: a code was sent to the number.
class PhoneVerificationStarted
    : public detail::Handle<seconder_phone_verification_started,
                            seconder_phone_verification_started_free> {
public:
    using Handle::Handle;

    /// The number's carrier.
    std::string_view carrier() const & noexcept
    {
        return detail::view(seconder_phone_verification_started_carrier(get()));
    }
    std::string_view carrier() const && = delete;

    /// Returns whether the number was ported from another carrier. std::nullopt if the service does
    /// not provide it.
    std::optional<bool> is_ported() const noexcept
    {
        return detail::known(seconder_phone_verification_started_is_ported(get()),
                             seconder_phone_verification_started_is_ported_known(get()));
    }

    /// Returns whether the number is a mobile number. std::nullopt if the service does not provide
    /// it.
    std::optional<bool> is_cellphone() const noexcept
    {
        return detail::known(seconder_phone_verification_started_is_cellphone(get()),
                             seconder_phone_verification_started_is_cellphone_known(get()));
    }

    /// The service's message.
    std::string_view message() const & noexcept
    {
        return detail::view(seconder_phone_verification_started_message(get()));
    }
    std::string_view message() const && = delete;

    /// The time that the code remains valid, in seconds, or `forever`. 0 if the service does not
    /// provide it.
    std::int64_t seconds_to_expire() const noexcept
    {
        return seconder_phone_verification_started_seconds_to_expire(get());
    }

    /// The id of the verification.
    std::string_view uuid() const & noexcept
    {
        return detail::view(seconder_phone_verification_started_uuid(get()));
    }
    std::string_view uuid() const && = delete;

    /// After how many seconds another code can be sent to the number by the same channel, even if
    /// this one is not used. std::nullopt if the service does not say: only a service of Seconder
    /// does.
    std::optional<std::chrono::seconds> resend_after() const noexcept
    {
        return detail::known(
            detail::seconds(seconder_phone_verification_started_resend_after(get())),
            seconder_phone_verification_started_resend_after_known(get()));
    }
};

/// The service's record of a phone number.
class PhoneInformation
    : public detail::Handle<seconder_phone_information, seconder_phone_information_free> {
public:
    using Handle::Handle;

    /// The service's message.
    std::string_view message() const & noexcept
    {
        return detail::view(seconder_phone_information_message(get()));
    }
    std::string_view message() const && = delete;

    /// The type of the number. "voip": a number reached over the Internet; "landline": a number
    /// that receives no SMS; "cellphone": a mobile number; "unknown": none of these for certain.
    std::string_view type() const & noexcept
    {
        return detail::view(seconder_phone_information_type(get()));
    }
    std::string_view type() const && = delete;

    /// The number's carrier.
    std::string_view provider() const & noexcept
    {
        return detail::view(seconder_phone_information_provider(get()));
    }
    std::string_view provider() const && = delete;

    /// Returns whether the number was ported from another carrier. std::nullopt if the service does
    /// not provide it.
    std::optional<bool> ported() const noexcept
    {
        return detail::known(seconder_phone_information_ported(get()),
                             seconder_phone_information_ported_known(get()));
    }
};

/// An approval request that was created.
class ApprovalCreated
    : public detail::Handle<seconder_approval_created, seconder_approval_created_free> {
public:
    using Handle::Handle;

    /// The id of the request, for check_approval().
    std::string_view uuid() const & noexcept
    {
        return detail::view(seconder_approval_created_uuid(get()));
    }
    std::string_view uuid() const && = delete;

    /// The service's message. An engine's says if the user has no device that could respond.
    std::string_view message() const & noexcept
    {
        return detail::view(seconder_approval_created_message(get()));
    }
    std::string_view message() const && = delete;

    /// The number that the application shows and the user types on the device. Empty if the request
    /// needs no number.
    std::string_view number() const & noexcept
    {
        return detail::view(seconder_approval_created_number(get()));
    }
    std::string_view number() const && = delete;
};

/// The service's record of a number's verification.
class PhoneVerificationRecord
    : public detail::Handle<seconder_phone_verification_record,
                            seconder_phone_verification_record_free> {
public:
    using Handle::Handle;

    /// The state of the verification. "pending": the code was sent and can still be checked;
    /// "verified": the code was right; "expired": the code was not entered in time, or wrong codes
    /// were entered too often; "unknown": a status that this library does not know.
    std::string_view status() const & noexcept
    {
        return detail::view(seconder_phone_verification_record_status(get()));
    }
    std::string_view status() const && = delete;

    /// The time that the code remains valid, in seconds; 0 unless the verification is pending.
    std::uint64_t seconds_to_expire() const noexcept
    {
        return seconder_phone_verification_record_seconds_to_expire(get());
    }

    /// The service's message.
    std::string_view message() const & noexcept
    {
        return detail::view(seconder_phone_verification_record_message(get()));
    }
    std::string_view message() const && = delete;
};

/// The secret for the user's app. Anyone who has it can generate the user's codes.
class AuthenticatorEnrolled
    : public detail::Handle<seconder_authenticator_enrolled, seconder_authenticator_enrolled_free> {
public:
    using Handle::Handle;

    /// The label that the app shows with the code.
    std::string_view label() const & noexcept
    {
        return detail::view(seconder_authenticator_enrolled_label(get()));
    }
    std::string_view label() const && = delete;

    /// The name of the application that the code is for.
    std::string_view issuer() const & noexcept
    {
        return detail::view(seconder_authenticator_enrolled_issuer(get()));
    }
    std::string_view issuer() const && = delete;

    /// The "otpauth:" URI that contains the secret.
    std::string_view uri() const & noexcept
    {
        return detail::view(seconder_authenticator_enrolled_uri(get()));
    }
    std::string_view uri() const && = delete;

    /// The URI as a QR code: a "data:" or "https:" URL for an `<img>`.
    std::string_view qr_code() const & noexcept
    {
        return detail::view(seconder_authenticator_enrolled_qr_code(get()));
    }
    std::string_view qr_code() const && = delete;
};

/// The user who has a login name, and what the user can log in with.
class FoundUser : public detail::Handle<seconder_found_user, seconder_found_user_free> {
public:
    using Handle::Handle;

    /// The user's id.
    std::uint64_t user_id() const noexcept { return seconder_found_user_user_id(get()); }

    /// The login name.
    std::string_view login() const & noexcept
    {
        return detail::view(seconder_found_user_login(get()));
    }
    std::string_view login() const && = delete;

    /// Returns whether the user has used a valid code.
    bool confirmed() const noexcept { return seconder_found_user_confirmed(get()); }

    /// Returns whether the user has a confirmed authenticator app.
    bool authenticator() const noexcept { return seconder_found_user_authenticator(get()); }

    /// The types of device that generate or receive codes, as in the status of a user: "android",
    /// "android_tablet", "ios", "svc_chrome", "sms".
    std::vector<std::string_view> devices() const &
    {
        return detail::list(get(), seconder_found_user_device_count, seconder_found_user_device);
    }
    std::vector<std::string_view> devices() const && = delete;

    /// The number of recovery codes that the user has left.
    std::uint64_t recovery_codes_left() const noexcept
    {
        return seconder_found_user_recovery_codes_left(get());
    }

    /// The service's message.
    std::string_view message() const & noexcept
    {
        return detail::view(seconder_found_user_message(get()));
    }
    std::string_view message() const && = delete;
};

/// The recovery codes of a user. Anyone who has one can log in with it once.
class RecoveryCodes : public detail::Handle<seconder_recovery_codes, seconder_recovery_codes_free> {
public:
    using Handle::Handle;

    /// The codes, of 12 digits each.
    std::vector<std::string_view> codes() const &
    {
        return detail::list(get(), seconder_recovery_codes_code_count,
                            seconder_recovery_codes_code);
    }
    std::vector<std::string_view> codes() const && = delete;

    /// The service's message.
    std::string_view message() const & noexcept
    {
        return detail::view(seconder_recovery_codes_message(get()));
    }
    std::string_view message() const && = delete;
};

/// The hashes by which a machine checks codes while the service is unreachable. Anyone who has them
/// can find the codes by trying all of them.
class OfflinePrepared
    : public detail::Handle<seconder_offline_prepared, seconder_offline_prepared_free> {
public:
    using Handle::Handle;

    /// The number of the authenticator app that generates the codes, for report_offline().
    std::uint64_t authenticator_id() const noexcept
    {
        return seconder_offline_prepared_authenticator_id(get());
    }

    /// The number of digits of a code.
    std::uint64_t digits() const noexcept { return seconder_offline_prepared_digits(get()); }

    /// The time that the app shows a code, in seconds. A step is a time in Unix seconds divided by
    /// it.
    std::uint64_t period() const noexcept { return seconder_offline_prepared_period(get()); }

    /// The step that was used last. No code of it, or of an earlier step, may be accepted.
    std::uint64_t last_step() const noexcept { return seconder_offline_prepared_last_step(get()); }

    /// The step of the first hash; each further hash is of the next step.
    std::uint64_t first_step() const noexcept
    {
        return seconder_offline_prepared_first_step(get());
    }

    /// When the hashes must no longer be used, in Unix seconds.
    std::uint64_t expires_at() const noexcept
    {
        return seconder_offline_prepared_expires_at(get());
    }

    /// The key of the hashes: 32 bytes in Base64.
    std::string_view hash_key() const & noexcept
    {
        return detail::view(seconder_offline_prepared_hash_key(get()));
    }
    std::string_view hash_key() const && = delete;

    /// The hashes, 8 bytes each, in Base64. Each is the first 8 bytes of HMAC-SHA-256 with the key
    /// OfflinePrepared::hash_key(), of the text "seconder offline code", a zero byte, the user's id
    /// and the step as 8 bytes each with the most significant first, and the digits of the code.
    std::string_view hashes() const & noexcept
    {
        return detail::view(seconder_offline_prepared_hashes(get()));
    }
    std::string_view hashes() const && = delete;

    /// The service's message.
    std::string_view message() const & noexcept
    {
        return detail::view(seconder_offline_prepared_message(get()));
    }
    std::string_view message() const && = delete;
};

/// The devices that a user has registered.
class RegisteredDevices
    : public detail::Handle<seconder_registered_devices, seconder_registered_devices_free> {
public:
    using Handle::Handle;

    /// The devices, oldest first.
    std::vector<const seconder_registered_device *> devices() const &
    {
        return detail::list(get(), seconder_registered_devices_device_count,
                            seconder_registered_devices_device);
    }
    std::vector<const seconder_registered_device *> devices() const && = delete;

    /// The service's message.
    std::string_view message() const & noexcept
    {
        return detail::view(seconder_registered_devices_message(get()));
    }
    std::string_view message() const && = delete;
};

/// A browser that is remembered.
class Remembered : public detail::Handle<seconder_remembered, seconder_remembered_free> {
public:
    using Handle::Handle;

    /// The token for the browser's cookie: at most 200 letters, digits, dashes, dots and
    /// underscores of ASCII. It is returned only here. Anyone who has it needs no second factor.
    std::string_view token() const & noexcept
    {
        return detail::view(seconder_remembered_token(get()));
    }
    std::string_view token() const && = delete;

    /// When the token expires, in Unix seconds.
    std::uint64_t expires_at() const noexcept { return seconder_remembered_expires_at(get()); }

    /// The service's message.
    std::string_view message() const & noexcept
    {
        return detail::view(seconder_remembered_message(get()));
    }
    std::string_view message() const && = delete;
};

/// The reply for a browser that is recognised. Any other outcome returns none.
class BrowserCheck : public detail::Handle<seconder_browser_check, seconder_browser_check_free> {
public:
    using Handle::Handle;

    /// The user whose browser it is, who is the user of the call.
    std::uint64_t user_id() const noexcept { return seconder_browser_check_user_id(get()); }

    /// The service's message.
    std::string_view message() const & noexcept
    {
        return detail::view(seconder_browser_check_message(get()));
    }
    std::string_view message() const && = delete;
};

/// An invitation. Anyone who has its link or its code can register a device.
class DeviceInvited : public detail::Handle<seconder_device_invited, seconder_device_invited_free> {
public:
    using Handle::Handle;

    /// The link that the user opens on the phone.
    std::string_view link() const & noexcept
    {
        return detail::view(seconder_device_invited_link(get()));
    }
    std::string_view link() const && = delete;

    /// The code in the link, which can be typed too: ten letters and digits in two groups.
    std::string_view code() const & noexcept
    {
        return detail::view(seconder_device_invited_code(get()));
    }
    std::string_view code() const && = delete;

    /// The link as a QR code: a "data:" URL for an `<img>`.
    std::string_view qr_code() const & noexcept
    {
        return detail::view(seconder_device_invited_qr_code(get()));
    }
    std::string_view qr_code() const && = delete;

    /// For how long the invitation is valid, in seconds.
    std::chrono::seconds expires_in() const noexcept
    {
        return detail::seconds(seconder_device_invited_expires_in(get()));
    }
};

/// An approval request as the service knows it.
class Approval : public detail::Handle<seconder_approval, seconder_approval_free> {
public:
    using Handle::Handle;

    /// Returns whether this user approved the request. Only this check may let anyone in, unless
    /// the service never provides the user.
    bool approved_by(std::uint64_t user_id) const noexcept
    {
        return seconder_approval_approved_by(get(), user_id);
    }

    /// Returns whether the request is approved, and the service names this user or none. Weaker
    /// than approved_by(), for a service that provides only the status: keep the uuid on the
    /// server, as seconder_approval_approved_unbound() describes.
    bool approved_unbound(std::uint64_t user_id) const noexcept
    {
        return seconder_approval_approved_unbound(get(), user_id);
    }

    /// The user's response. Only ApprovalStatus::approved lets anyone in.
    ApprovalStatus status() const noexcept
    {
        return static_cast<ApprovalStatus>(seconder_approval_status(get()));
    }

    /// The id of the request.
    std::string_view uuid() const & noexcept { return detail::view(seconder_approval_uuid(get())); }
    std::string_view uuid() const && = delete;

    /// The user to whom the request was sent. Compare it with the user who logs in, or call
    /// Approval::approved_by().
    std::uint64_t user_id() const noexcept { return seconder_approval_user_id(get()); }

    /// One of the user's e-mail addresses.
    std::string_view user_email() const & noexcept
    {
        return detail::view(seconder_approval_user_email(get()));
    }
    std::string_view user_email() const && = delete;

    /// The id of the application that sent the request, a text of the service's own.
    std::string_view app_id() const & noexcept
    {
        return detail::view(seconder_approval_app_id(get()));
    }
    std::string_view app_id() const && = delete;

    /// The number of that application.
    std::uint64_t app_serial_id() const noexcept { return seconder_approval_app_serial_id(get()); }

    /// The name of that application.
    std::string_view app_name() const & noexcept
    {
        return detail::view(seconder_approval_app_name(get()));
    }
    std::string_view app_name() const && = delete;

    /// The question shown to the user.
    std::string_view message() const & noexcept
    {
        return detail::view(seconder_approval_message(get()));
    }
    std::string_view message() const && = delete;

    /// The details shown to the user. A JSON object as text, "{}" if it is empty.
    std::string_view details() const & noexcept
    {
        return detail::view(seconder_approval_details(get()));
    }
    std::string_view details() const && = delete;

    /// The details not shown to the user. A JSON object as text, "{}" if it is empty.
    std::string_view hidden_details() const & noexcept
    {
        return detail::view(seconder_approval_hidden_details(get()));
    }
    std::string_view hidden_details() const && = delete;

    /// The logos shown with the request.
    std::vector<const seconder_logo *> logos() const &
    {
        return detail::list(get(), seconder_approval_logo_count, seconder_approval_logo);
    }
    std::vector<const seconder_logo *> logos() const && = delete;

    /// When the request was created, in RFC 3339.
    std::string_view created_at() const & noexcept
    {
        return detail::view(seconder_approval_created_at(get()));
    }
    std::string_view created_at() const && = delete;

    /// When the request last changed, in RFC 3339.
    std::string_view updated_at() const & noexcept
    {
        return detail::view(seconder_approval_updated_at(get()));
    }
    std::string_view updated_at() const && = delete;

    /// When the user responded, in RFC 3339; empty while the request is pending.
    std::string_view processed_at() const & noexcept
    {
        return detail::view(seconder_approval_processed_at(get()));
    }
    std::string_view processed_at() const && = delete;

    /// The time that the request remains open, in seconds, or `forever`. 0 if the service does not
    /// provide it.
    std::int64_t seconds_to_expire() const noexcept
    {
        return seconder_approval_seconds_to_expire(get());
    }

    /// Returns whether a device was notified of the request. std::nullopt if the service does not
    /// provide it.
    std::optional<bool> notified() const noexcept
    {
        return detail::known(seconder_approval_notified(get()),
                             seconder_approval_notified_known(get()));
    }
};

/// A device that was registered for a user.
class Device : public detail::Handle<seconder_device, seconder_device_free> {
public:
    using Handle::Handle;

    /// The device's id.
    std::uint64_t id() const noexcept { return seconder_device_id(get()); }

    /// The secret that authenticates the device. It is provided only once: store it on the device.
    std::string_view secret() const & noexcept
    {
        return detail::view(seconder_device_secret(get()));
    }
    std::string_view secret() const && = delete;
};

/// The requests that a device's user can still answer.
class ApprovalRequests
    : public detail::Handle<seconder_approval_requests, seconder_approval_requests_free> {
public:
    using Handle::Handle;

    /// The requests, oldest first.
    std::vector<const seconder_approval_request *> requests() const &
    {
        return detail::list(get(), seconder_approval_requests_request_count,
                            seconder_approval_requests_request);
    }
    std::vector<const seconder_approval_request *> requests() const && = delete;
};

/// A page of what an engine in this process has decided.
class AuditPage : public detail::Handle<seconder_audit_page, seconder_audit_page_free> {
public:
    using Handle::Handle;

    /// The decisions, the latest first. There may be none although more follow.
    std::vector<const seconder_audit_entry *> entries() const &
    {
        return detail::list(get(), seconder_audit_page_entry_count, seconder_audit_page_entry);
    }
    std::vector<const seconder_audit_entry *> entries() const && = delete;

    /// The value to pass as `after` to read on; none at the end.
    std::optional<std::string> next() const
    {
        const char *next = seconder_audit_page_next(get());
        return next == nullptr ? std::nullopt : std::optional<std::string>(next);
    }
};

/// The messages that a sandbox has sent.
class SentMessages : public detail::Handle<seconder_sent_messages, seconder_sent_messages_free> {
public:
    using Handle::Handle;

    /// The messages, the newest first.
    std::vector<const seconder_sent_message *> messages() const &
    {
        return detail::list(get(), seconder_sent_messages_message_count,
                            seconder_sent_messages_message);
    }
    std::vector<const seconder_sent_message *> messages() const && = delete;
};

/// The result of Service::run_jobs().
class JobsRun : public detail::Handle<seconder_jobs_run, seconder_jobs_run_free> {
public:
    using Handle::Handle;

    /// The number of messages and callbacks that were sent.
    std::uint32_t sent() const noexcept { return seconder_jobs_run_sent(get()); }

    /// The number of messages and callbacks that have to wait for another attempt.
    std::uint32_t waiting() const noexcept { return seconder_jobs_run_waiting(get()); }

    /// The number of messages and callbacks that failed for good.
    std::uint32_t failed() const noexcept { return seconder_jobs_run_failed(get()); }

    /// Returns whether the budget was used up, or the handle was cancelled, so that there may be
    /// more to send at once.
    bool more() const noexcept { return seconder_jobs_run_more(get()); }
};

/// An answer to an approval request, sent by the service itself.
class Event : public detail::Handle<seconder_event, seconder_event_free> {
public:
    using Handle::Handle;

    /// Returns whether this user approved the request. This is the only check that may let anyone
    /// in.
    bool approved_by(std::uint64_t user_id) const noexcept
    {
        return seconder_event_approved_by(get(), user_id);
    }

    /// The approval request's uuid.
    std::string_view uuid() const & noexcept { return detail::view(seconder_event_uuid(get())); }
    std::string_view uuid() const && = delete;

    /// The user's answer: one of ApprovalStatus, and only ApprovalStatus::approved lets anyone in.
    /// ApprovalStatus::unknown for an answer that this library does not know.
    ApprovalStatus status() const noexcept
    {
        return static_cast<ApprovalStatus>(seconder_event_status(get()));
    }

    /// The id of the user who answered; 0 if the service does not provide it. Compare it with the
    /// user who is logging in, or ask whether that user approved.
    std::uint64_t user_id() const noexcept { return seconder_event_user_id(get()); }

    /// All parameters that were received and signed, as the text of a JSON object. Empty objects
    /// and lists are omitted, because the signature does not cover them. It does not distinguish a
    /// number from its text, or null from an empty text either: do not rely on these differences.
    std::string_view parameters() const & noexcept
    {
        return detail::view(seconder_event_parameters(get()));
    }
    std::string_view parameters() const && = delete;

    /// The device that answered; nullptr if the service does not provide it.
    const seconder_device_info *device() const & noexcept { return seconder_event_device(get()); }
    const seconder_device_info *device() const && = delete;
};

#if defined(__cpp_lib_jthread)
class StoppableService;
#endif

/// A service: an engine in this process, or a client of a remote service. Many threads may use one
/// at once.
class Service : public detail::Handle<seconder_service, seconder_service_free> {
public:
    using Handle::Handle;

    /// A second handle on the same connections, with another time limit or another choice of
    /// retries.
    Result<Service> try_with(std::chrono::milliseconds timeout,
                             Repeats repeats = Repeats::standard) const
    {
        return detail::call<Service>(seconder_service_with, get(), detail::milliseconds(timeout),
                                     static_cast<std::int32_t>(repeats));
    }

    /// Ends the calls under way with this handle, and every later one, with Status::cancelled: see
    /// seconder_service_cancel(). Make a call that may have to end on its own with a handle from
    /// with(). The handle must not be destroyed or moved from at the same time.
    void cancel() const noexcept { seconder_service_cancel(get()); }

#if defined(__cpp_lib_jthread)
    /// A second handle on the same connections, whose calls end when a stop is requested.
    Result<StoppableService> try_with(std::stop_token token) const;
#endif

    /// Sets the function that logs each call of this handle, and of those made from it later. An
    /// empty one removes it.
    Result<void> try_set_log(const Log &log) const
    {
        // The C library frees the function, even if the call fails.
        Log *const given = log ? std::make_unique<Log>(log).release() : nullptr;
        return detail::run(seconder_set_log, get(), given ? detail::run_log : nullptr, given,
                           detail::free_function<Log>);
    }

    /// The application's API key, for an engine in this process.
    Result<std::string_view> try_api_key() const &
    {
        seconder_error *error = nullptr;
        const char *key = seconder_api_key(get(), &error);
        if (key == nullptr)
            return Error(seconder_error_status(error), error);
        return detail::view(key);
    }
    Result<std::string_view> try_api_key() const && = delete;

    /// Enrols a user, or adds an e-mail address to the user who already has this cellphone
    /// (interface 4.1). Without a number, enrols a user by the e-mail address, or returns the user
    /// without a number who has it: for an application that has authenticator apps only.
    ///
    /// The person who typed the number or the address need not have it. Verify the number first,
    /// with start_phone_verification() and check_phone_verification(), or the address by an e-mail,
    /// and set `new_only`. Otherwise the second factor of the user who has it becomes the one of
    /// the person who typed it.
    ///
    /// `email` is one of the user's e-mail addresses: name@example.com, at most 254 bytes. It
    /// identifies a user without a phone number. `cellphone` is the phone number, which identifies
    /// the user: 4 to 15 digits in groups that dashes, periods or spaces may separate. Two calls
    /// with the same number return the same user. A user without one is sent no codes.
    /// `country_code` is the calling code of the number: "1" to "999".
    ///
    /// Status::rejected if the service rejects a value, which Error::fields() names; with
    /// `new_only`, that is `cellphone` if a user has the number already, and without a number
    /// `email` if a user without one has the address.
    Result<UserCreated> try_create_user(const Text &email,
                                        const std::optional<std::string> &cellphone = {},
                                        const std::optional<std::string> &country_code = {},
                                        const CreateUserOptions &options = {}) const
    {
        seconder_create_user_options c = {};
        c.send_install_link_via_sms = detail::choice(options.send_install_link_via_sms);
        c.new_only = detail::choice(options.new_only);
        return detail::call<UserCreated>(seconder_create_user, get(), email.c_str(),
                                         detail::text(cellphone), detail::text(country_code), &c,
                                         sizeof c);
    }

    /// Sends a code by SMS (interface 4.2).
    ///
    /// `user_id` is the user to whom the code is sent.
    ///
    /// Status::rate_limited if the user was sent an SMS for this action a moment ago, or too many
    /// codes; Status::rejected if there is no such user, or if codes cannot be sent by SMS.
    Result<CodeRequested> try_request_sms(std::uint64_t user_id,
                                          const RequestCodeOptions &options = {}) const
    {
        seconder_request_code_options c = {};
        c.action = detail::text(options.action);
        c.action_message = detail::text(options.action_message);
        c.locale = detail::text(options.locale);
        c.force = detail::choice(options.force);
        c.user_ip = detail::text(options.user_ip);
        return detail::call<CodeRequested>(seconder_request_sms, get(), user_id, &c, sizeof c);
    }

    /// Sends a code by voice call (interface 4.3).
    ///
    /// `user_id` is the user to whom the code is sent.
    ///
    /// Status::rate_limited if the user was called for this action a moment ago, or sent too many
    /// codes; an SMS a moment ago does not matter, and the call says the same code.
    /// Status::rejected if there is no such user, or if codes cannot be sent by voice call.
    Result<CodeRequested> try_request_call(std::uint64_t user_id,
                                           const RequestCodeOptions &options = {}) const
    {
        seconder_request_code_options c = {};
        c.action = detail::text(options.action);
        c.action_message = detail::text(options.action_message);
        c.locale = detail::text(options.locale);
        c.force = detail::choice(options.force);
        c.user_ip = detail::text(options.user_ip);
        return detail::call<CodeRequested>(seconder_request_call, get(), user_id, &c, sizeof c);
    }

    /// Checks the code that a user typed (interface 4.4).
    ///
    /// Only Status::ok means that the code was checked and is correct. Status::token_wrong,
    /// Status::token_reused and Status::token_not_checked say why it was not accepted. Without
    /// `force`, the code of a user who is not confirmed yet is not checked.
    ///
    /// `user_id` is the user to verify. `token` is the code that the user typed: 6 to 12 digits and
    /// nothing else. Any other text is Status::token_malformed.
    ///
    /// Status::rate_limited after wrong codes, until the user may try again.
    Result<Verification> try_verify(std::uint64_t user_id, const Text &token,
                                    const VerifyOptions &options = {}) const
    {
        seconder_verify_options c = {};
        c.force = options.force;
        c.action = detail::text(options.action);
        c.user_ip = detail::text(options.user_ip);
        return detail::call<Verification>(seconder_verify, get(), user_id, token.c_str(), &c,
                                          sizeof c);
    }

    /// Removes a user and all data about the user from the application (interface 4.5).
    ///
    /// `user_id` is the user to remove.
    ///
    /// Status::rejected if there is no such user.
    Result<Done> try_delete_user(std::uint64_t user_id, const CallOptions &options = {}) const
    {
        seconder_call_options c = {};
        c.user_ip = detail::text(options.user_ip);
        return detail::call<Done>(seconder_delete_user, get(), user_id, &c, sizeof c);
    }

    /// Reports a user's activity to the service, for fraud detection (interface 4.6).
    ///
    /// `user_id` is the user whom the activity is about. `type` is the kind of activity:
    /// "password_reset", "banned", "unbanned" or "cookie_login".
    ///
    /// Status::rejected if there is no such user.
    Result<Done> try_register_activity(std::uint64_t user_id, const Text &type,
                                       const RegisterActivityOptions &options = {}) const
    {
        seconder_register_activity_options c = {};
        c.data = detail::text(options.data);
        c.user_ip = detail::text(options.user_ip);
        return detail::call<Done>(seconder_register_activity, get(), user_id, type.c_str(), &c,
                                  sizeof c);
    }

    /// Requests the service's record of the application (interface 4.7).
    ///
    /// Status::unauthorized if the service does not accept the API key.
    Result<Application> try_app_details(const CallOptions &options = {}) const
    {
        seconder_call_options c = {};
        c.user_ip = detail::text(options.user_ip);
        return detail::call<Application>(seconder_app_details, get(), &c, sizeof c);
    }

    /// Requests the service's record of a user (interface 4.8).
    ///
    /// `user_id` is the user whose record is returned.
    ///
    /// Status::rejected if there is no such user.
    Result<UserStatusReply> try_user_status(std::uint64_t user_id,
                                            const CallOptions &options = {}) const
    {
        seconder_call_options c = {};
        c.user_ip = detail::text(options.user_ip);
        return detail::call<UserStatusReply>(seconder_user_status, get(), user_id, &c, sizeof c);
    }

    /// Requests the application's usage, month by month (interface 4.9).
    ///
    /// Status::unauthorized if the service does not accept the API key.
    Result<Statistics> try_app_stats(const CallOptions &options = {}) const
    {
        seconder_call_options c = {};
        c.user_ip = detail::text(options.user_ip);
        return detail::call<Statistics>(seconder_app_stats, get(), &c, sizeof c);
    }

    /// Sends a code to a number that belongs to no user yet (interface 4.10).
    ///
    /// `via` is the channel that delivers the code: "sms" or "call". `phone_number` is the number
    /// without its calling code: 4 to 15 digits in groups that dashes, periods or spaces may
    /// separate. `country_code` is the calling code of the number: "1" to "999".
    ///
    /// Status::rate_limited if a code was sent to the number by the same channel a moment ago, or
    /// too often; Status::rejected if the number cannot be reached by this channel.
    Result<PhoneVerificationStarted>
    try_start_phone_verification(const Text &via, const Text &phone_number,
                                 const Text &country_code,
                                 const StartPhoneVerificationOptions &options = {}) const
    {
        seconder_start_phone_verification_options c = {};
        c.locale = detail::text(options.locale);
        c.code_length = options.code_length;
        c.user_ip = detail::text(options.user_ip);
        return detail::call<PhoneVerificationStarted>(seconder_start_phone_verification, get(),
                                                      via.c_str(), phone_number.c_str(),
                                                      country_code.c_str(), &c, sizeof c);
    }

    /// Requests the type of a phone number (interface 4.11).
    ///
    /// `phone_number` is the number without its calling code: 4 to 15 digits in groups that dashes,
    /// periods or spaces may separate. `country_code` is the calling code of the number: "1" to
    /// "999".
    ///
    /// Status::rejected if it is not a phone number.
    Result<PhoneInformation> try_phone_info(const Text &phone_number, const Text &country_code,
                                            const CallOptions &options = {}) const
    {
        seconder_call_options c = {};
        c.user_ip = detail::text(options.user_ip);
        return detail::call<PhoneInformation>(seconder_phone_info, get(), phone_number.c_str(),
                                              country_code.c_str(), &c, sizeof c);
    }

    /// Asks a user to approve something on their device (interface 4.12). An engine keeps the five
    /// latest requests of a user open: a further one makes the oldest expire.
    ///
    /// `user_id` is the user to ask. `message` is the question shown to the user: 1 to 1024 bytes.
    ///
    /// Status::rate_limited if the user reported the last request as not theirs; Status::rejected
    /// if there is no such user.
    Result<ApprovalCreated> try_create_approval(std::uint64_t user_id, const Text &message,
                                                const CreateApprovalOptions &options = {}) const
    {
        const auto raw_logos = detail::raw_list(options.logos);
        seconder_create_approval_options c = {};
        c.details = detail::text(options.details);
        c.hidden_details = detail::text(options.hidden_details);
        c.logos = raw_logos.data();
        c.logos_count = raw_logos.size();
        c.seconds_to_expire = options.seconds_to_expire;
        c.number_digits = options.number_digits;
        return detail::call<ApprovalCreated>(seconder_create_approval, get(), user_id,
                                             message.c_str(), &c, sizeof c);
    }

    /// Requests a user's response to an approval request (interface 4.13).
    ///
    /// Status::ok means that the request was found, not that the user approved it: call
    /// Approval::approved_by() on the reply.
    ///
    /// `uuid` is the id of the approval request, from create_approval(): 1 to 64 letters, digits
    /// and dashes of ASCII.
    ///
    /// Status::rejected if there is no such request.
    Result<Approval> try_check_approval(const Text &uuid) const
    {
        return detail::call<Approval>(seconder_check_approval, get(), uuid.c_str());
    }

    /// Checks the code that was sent to a number by start_phone_verification(). Only Status::ok
    /// means that the code is right.
    ///
    /// `phone_number` is the number without its calling code: 4 to 15 digits in groups that dashes,
    /// periods or spaces may separate. `country_code` is the calling code of the number: "1" to
    /// "999". `verification_code` is the code that the user typed: 4 to 10 digits and nothing else.
    /// Any other text is Status::token_malformed.
    ///
    /// Status::token_wrong if the code is wrong; Status::rejected with status 404 and the service
    /// code "60023" if no code is pending.
    Result<Done> try_check_phone_verification(const Text &phone_number, const Text &country_code,
                                              const Text &verification_code) const
    {
        return detail::call<Done>(seconder_check_phone_verification, get(), phone_number.c_str(),
                                  country_code.c_str(), verification_code.c_str());
    }

    /// Requests the state of a number's verification, which start_phone_verification() began. It is
    /// identified either by its `uuid` or by the number.
    ///
    /// It is for display: a user proves to hold a number by check_phone_verification() alone, since
    /// anyone may have verified the number before.
    ///
    /// Status::rejected with the service code "60023" if there is no such verification.
    Result<PhoneVerificationRecord>
    try_phone_verification_status(const PhoneVerificationStatusOptions &options = {}) const
    {
        seconder_phone_verification_status_options c = {};
        c.uuid = detail::text(options.uuid);
        c.phone_number = detail::text(options.phone_number);
        c.country_code = detail::text(options.country_code);
        return detail::call<PhoneVerificationRecord>(seconder_phone_verification_status, get(), &c,
                                                     sizeof c);
    }

    /// Issues a new secret for a user's authenticator app, with a QR code. A previous secret
    /// remains valid until a code of the new one has been accepted: check one with
    /// confirm_authenticator().
    ///
    /// `user_id` is the user whose app gets the secret.
    ///
    /// Status::rejected if there is no such user.
    Result<AuthenticatorEnrolled>
    try_enrol_authenticator(std::uint64_t user_id,
                            const EnrolAuthenticatorOptions &options = {}) const
    {
        seconder_enrol_authenticator_options c = {};
        c.label = detail::text(options.label);
        c.qr_size = options.qr_size;
        return detail::call<AuthenticatorEnrolled>(seconder_enrol_authenticator, get(), user_id, &c,
                                                   sizeof c);
    }

    /// Finds the user who has a login name, and what the user can log in with (interface 4.17).
    ///
    /// `login` is the login name: 1 to 64 letters, digits and the characters _ . @ + - of ASCII,
    /// beginning with a letter, a digit or _; a $ may be at the end.
    ///
    /// Status::rejected with the service code "60026" if no user has the name, and with another one
    /// if the service has no such call.
    Result<FoundUser> try_find_user(const Text &login) const
    {
        return detail::call<FoundUser>(seconder_find_user, get(), login.c_str());
    }

    /// Gives a user a login name (interface 4.18). A user has one at most.
    ///
    /// `user_id` is the user who gets the name. `login` is the login name: 1 to 64 letters, digits
    /// and the characters _ . @ + - of ASCII, beginning with a letter, a digit or _; a $ may be at
    /// the end.
    ///
    /// Status::rejected if there is no such user, if another user has the name, or if the user has
    /// another one: remove that first.
    Result<Done> try_set_login(std::uint64_t user_id, const Text &login) const
    {
        return detail::call<Done>(seconder_set_login, get(), user_id, login.c_str());
    }

    /// Takes a login name from the user who has it (interface 4.19).
    ///
    /// `login` is the login name: 1 to 64 letters, digits and the characters _ . @ + - of ASCII,
    /// beginning with a letter, a digit or _; a $ may be at the end.
    ///
    /// Status::rejected if no user has the name.
    Result<Done> try_remove_login(const Text &login) const
    {
        return detail::call<Done>(seconder_remove_login, get(), login.c_str());
    }

    /// Creates a set of recovery codes for a user, in place of any that the user has (interface
    /// 4.20). Show them to the user, who keeps them on paper: each is right once, as the token of
    /// verify(), and they are returned only here.
    ///
    /// `user_id` is the user who gets the codes.
    ///
    /// Status::rejected if there is no such user.
    Result<RecoveryCodes> try_create_recovery_codes(std::uint64_t user_id) const
    {
        return detail::call<RecoveryCodes>(seconder_create_recovery_codes, get(), user_id);
    }

    /// Prepares logins of a user while the service is unreachable: returns a hash of each code that
    /// the user's authenticator app will show in the next days (interface 4.21). The secret stays
    /// with the service. A machine must accept a step once, and none before it, and report each
    /// login with report_offline().
    ///
    /// The call requires the code of the app that the service has accepted just now, so only
    /// someone who was given that code can prepare anything, and once. The service must allow it:
    /// `offline_days` of seconder_open_options. A wrong code counts as a wrong code of verify()
    /// does.
    ///
    /// `user_id` is the user who logs in. `token` is the code of the app that was accepted in the
    /// last five minutes: 6 to 12 digits and nothing else. Any other text is
    /// Status::token_malformed.
    ///
    /// Status::rejected if the service does not allow it, if the code is not the one that was
    /// accepted last, such as a code by SMS, if the user's app has not shown a right code yet, or
    /// if there is no such user; Status::rate_limited after wrong codes.
    Result<OfflinePrepared> try_prepare_offline(std::uint64_t user_id, const Text &token,
                                                const PrepareOfflineOptions &options = {}) const
    {
        seconder_prepare_offline_options c = {};
        c.days = options.days;
        c.machine = detail::text(options.machine);
        return detail::call<OfflinePrepared>(seconder_prepare_offline, get(), user_id,
                                             token.c_str(), &c, sizeof c);
    }

    /// Reports the logins that a machine has accepted while the service was unreachable (interface
    /// 4.22). The service marks their codes as used, and records each login as an activity of the
    /// user.
    ///
    /// A machine reports a login until a report of it was acknowledged; a login that is reported
    /// twice is recorded once.
    ///
    /// `user_id` is the user who logged in. `authenticator_id` is the authenticator app, by
    /// OfflinePrepared::authenticator_id(). `logins` is a list of 1 to 100 logins.
    ///
    /// Status::rejected if there is no such user, and with the service code "offline_not_prepared"
    /// if the service has not prepared these logins.
    Result<Done> try_report_offline(std::uint64_t user_id, std::uint64_t authenticator_id,
                                    const std::vector<OfflineLogin> &logins,
                                    const ReportOfflineOptions &options = {}) const
    {
        const auto raw_logins = detail::raw_list(logins);
        seconder_report_offline_options c = {};
        c.machine = detail::text(options.machine);
        return detail::call<Done>(seconder_report_offline, get(), user_id, authenticator_id,
                                  raw_logins.data(), raw_logins.size(), &c, sizeof c);
    }

    /// Checks a code of the authenticator app that enrol_authenticator() has enrolled last, if it
    /// is still pending, and of no other factor (interface 4.23). The right one makes it the user's
    /// app, in place of an earlier one. verify() accepts any code of the user, such as one by SMS,
    /// so it does not show that the user has scanned the new secret.
    ///
    /// Only Status::ok means that the code was checked and is correct. Status::token_wrong and
    /// Status::token_reused say why it was not accepted.
    ///
    /// `user_id` is the user who scanned the secret. `code` is the code that the user typed: 6 to
    /// 12 digits and nothing else. Any other text is Status::token_malformed.
    ///
    /// Status::rate_limited after wrong codes, until the user may try again; Status::rejected with
    /// the service code "no_pending_authenticator" if no app of the user is pending.
    Result<Verification> try_confirm_authenticator(std::uint64_t user_id, const Text &code) const
    {
        return detail::call<Verification>(seconder_confirm_authenticator, get(), user_id,
                                          code.c_str());
    }

    /// Removes an authenticator app of a user, confirmed or pending (interface 4.24). Its codes are
    /// wrong from then on, except on machines that have prepared logins without the service
    /// (interface 4.21). A user who has no app and no device left is sent codes by SMS again.
    /// Removing a confirmed app also forgets the remembered browsers of the user.
    ///
    /// `user_id` is the user who has the app. `authenticator_id` is the app, by its id in Factors:
    /// 1 to 64 letters, digits and dashes of ASCII.
    ///
    /// Status::rejected with the service code "authenticator_not_found" if the user has no such
    /// app.
    Result<Done> try_remove_authenticator(std::uint64_t user_id, const Text &authenticator_id) const
    {
        return detail::call<Done>(seconder_remove_authenticator, get(), user_id,
                                  authenticator_id.c_str());
    }

    /// Lists the devices that a user has registered for approval requests (interface 4.25).
    ///
    /// `user_id` is the user whose devices are listed.
    ///
    /// Status::rejected if there is no such user.
    Result<RegisteredDevices> try_devices(std::uint64_t user_id) const
    {
        return detail::call<RegisteredDevices>(seconder_devices, get(), user_id);
    }

    /// Removes a registered device of a user (interface 4.26). Its secret is void from then on, and
    /// the remembered browsers of the user are forgotten. Approval requests stay open for the
    /// user's other devices; a user who has no app and no device left is sent codes by SMS again.
    ///
    /// `user_id` is the user who has the device. `device_id` is the device, by its id in Factors.
    ///
    /// Status::rejected with the service code "device_not_found" if the user has no such device.
    Result<Done> try_remove_device(std::uint64_t user_id, std::uint64_t device_id) const
    {
        return detail::call<Done>(seconder_remove_device, get(), user_id, device_id);
    }

    /// Remembers the browser of a user who has just proven the second factor, and returns a token
    /// for a cookie of it (interface 4.27). recognise() accepts the token in place of the second
    /// factor until it expires or forget() revokes it.
    ///
    /// The service does not check that there was a proof: the application calls this only after
    /// one, and only for users who ask for it. The cookie should be "Secure", "HttpOnly" and
    /// "SameSite=Lax". A user has at most 20 remembered browsers: for a further one, the oldest is
    /// forgotten.
    ///
    /// `user_id` is the user whose browser it is.
    ///
    /// Status::rejected if there is no such user.
    Result<Remembered> try_remember(std::uint64_t user_id,
                                    const RememberOptions &options = {}) const
    {
        seconder_remember_options c = {};
        c.days = options.days;
        return detail::call<Remembered>(seconder_remember, get(), user_id, &c, sizeof c);
    }

    /// Checks the token of a remembered browser (interface 4.28).
    ///
    /// Only Status::ok means that the browser is recognised: this application remembered it for
    /// this user, and the token has neither expired nor been revoked. If not, the status is
    /// Status::not_recognised: request the second factor.
    ///
    /// It counts as no code, confirms no user, and does not extend the life of the token.
    ///
    /// `user_id` is the user who logs in. `token` is the token of the browser's cookie, which may
    /// be any text.
    ///
    /// Status::invalid_response if the service's reply does not say clearly whether the browser is
    /// recognised; Status::rejected if the service has no such call.
    Result<BrowserCheck> try_recognise(std::uint64_t user_id, const Text &token) const
    {
        return detail::call<BrowserCheck>(seconder_recognise, get(), user_id, token.c_str());
    }

    /// Forgets one remembered browser of a user, or all of them (interface 4.29). Their tokens are
    /// void from then on. Without a token, it forgets all of them: for a user who changes the
    /// password, loses a phone or asks to be logged out everywhere.
    ///
    /// `user_id` is the user whose browser it is. `token` is the token of the browser to forget;
    /// without one, all browsers of the user are forgotten. A token that is not recognised is no
    /// error, since there is nothing to forget.
    ///
    /// Status::rejected if no token is given and there is no such user.
    Result<Done> try_forget(std::uint64_t user_id,
                            const std::optional<std::string> &token = {}) const
    {
        return detail::call<Done>(seconder_forget, get(), user_id, detail::text(token));
    }

    /// Lets a user try codes again after too many wrong ones (interface 4.30). The counts of wrong
    /// codes of all factors start again at 0, so it ends waits too. Codes that were sent have the
    /// tries that they had.
    ///
    /// `user_id` is the user who may try again.
    ///
    /// Status::rejected if there is no such user.
    Result<Done> try_unlock_user(std::uint64_t user_id) const
    {
        return detail::call<Done>(seconder_unlock_user, get(), user_id);
    }

    /// Makes an invitation, by which a user registers a phone that approves logins and shows codes
    /// (interface 4.31). It can be used once, within ten minutes.
    ///
    /// `user_id` is the user who registers the phone.
    ///
    /// Status::rejected with the service code "no_public_url" if the service has no public URL, by
    /// which phones reach it, and if there is no such user.
    Result<DeviceInvited> try_invite_device(std::uint64_t user_id,
                                            const InviteDeviceOptions &options = {}) const
    {
        seconder_invite_device_options c = {};
        c.qr_size = options.qr_size;
        return detail::call<DeviceInvited>(seconder_invite_device, get(), user_id, &c, sizeof c);
    }

    /// Changes the phone number of a user, who proves to hold the new one by the code of
    /// start_phone_verification() (interface 4.32). The code is used up.
    ///
    /// The user keeps the id, the authenticator apps, the devices and the recovery codes. Codes
    /// that were sent to the former number are wrong from then on, remembered browsers are
    /// forgotten, and the devices of the user are notified.
    ///
    /// `user_id` is the user who gets the number. `phone_number` is the new number without its
    /// calling code: 4 to 15 digits in groups that dashes, periods or spaces may separate.
    /// `country_code` is the calling code of the number: "1" to "999". `verification_code` is the
    /// code that was sent to the new number: 4 to 10 digits and nothing else. Any other text is
    /// Status::token_malformed.
    ///
    /// Status::token_wrong if the code is wrong; Status::rejected with status 404 and the service
    /// code "60023" if no code is pending, with 409 if another user has the number, and if there is
    /// no such user.
    Result<Done> try_set_number(std::uint64_t user_id, const Text &phone_number,
                                const Text &country_code, const Text &verification_code,
                                const CallOptions &options = {}) const
    {
        seconder_call_options c = {};
        c.user_ip = detail::text(options.user_ip);
        return detail::call<Done>(seconder_set_number, get(), user_id, phone_number.c_str(),
                                  country_code.c_str(), verification_code.c_str(), &c, sizeof c);
    }

    /// Waits for the answer, in this thread. The user may have denied the request: check
    /// Approval::approved_by().
    Result<Approval> try_wait_for_approval(const Text &uuid, std::uint64_t user_id,
                                           std::chrono::milliseconds deadline,
                                           const WaitForApprovalOptions &options = {}) const
    {
        seconder_wait_for_approval_options c = {};
        if (options.stop) {
            c.stop = detail::run_stop;
            c.stop_userdata = const_cast<Stop *>(&options.stop);
        }
        c.unbound = options.unbound;
        return detail::call<Approval>(seconder_wait_for_approval, get(), uuid.c_str(), user_id,
                                      detail::from_now(deadline), &c, sizeof c);
    }

    /// Asks a user who logs in for the second factor, and decides: see seconder_login(). It fails
    /// unless the user may log in. Without a function, only what was typed before is checked.
    Result<void> try_login(const Text &login, const Converse &converse,
                           const LoginOptions &options = {}) const
    {
        return detail::login(get(), login, converse, options);
    }

    /// Registers a device, with an engine in this process.
    Result<Device> try_register_device(std::uint64_t user_id, const Text &device_type) const
    {
        return detail::call<Device>(seconder_register_device, get(), user_id, device_type.c_str());
    }

    /// Lists the approval requests that a device's user can still answer, with an engine in this
    /// process.
    Result<ApprovalRequests> try_open_approvals(std::uint64_t device_id,
                                                const Text &device_secret) const
    {
        return detail::call<ApprovalRequests>(seconder_open_approvals, get(), device_id,
                                              device_secret.c_str());
    }

    /// Answers an approval request from a device, with an engine in this process: "approve", "deny"
    /// or "report". `number` is what the user typed on the phone, if the request has a number.
    Result<Approval> try_respond_to_approval(const Text &uuid, std::uint64_t device_id,
                                             const Text &device_secret, const Text &response,
                                             const Text &number = nullptr) const
    {
        return detail::call<Approval>(seconder_respond_to_approval, get(), uuid.c_str(), device_id,
                                      device_secret.c_str(), response.c_str(), number.c_str());
    }

    /// Empties a sandbox: see seconder_clear_sandbox(). Any other service is an invalid argument.
    Result<void> try_clear_sandbox() const
    {
        return detail::run(seconder_clear_sandbox, get());
    }

    /// Reads the messages that a sandbox has sent to a user, or all, the newest first.
    Result<SentMessages> try_sandbox_messages(std::uint64_t user_id = 0) const
    {
        return detail::call<SentMessages>(seconder_sandbox_messages, get(), user_id);
    }

    /// Moves the time of a sandbox on.
    Result<void> try_sandbox_advance(std::chrono::seconds time) const
    {
        return detail::run(seconder_sandbox_advance, get(),
                           static_cast<std::uint64_t>(time.count()));
    }

    /// Lets calls of a sandbox fail: see seconder_sandbox_fail(). 0 times is without a limit.
    Result<void> try_sandbox_fail(const Text &fault, const Text &calls = nullptr,
                                  std::uint64_t times = 0) const
    {
        return detail::run(seconder_sandbox_fail, get(), fault.c_str(), calls.c_str(), times);
    }

    /// Ends the faults of a sandbox.
    Result<void> try_sandbox_end_faults() const
    {
        return detail::run(seconder_sandbox_end_faults, get());
    }

    /// Responds to the latest open approval request of a user of a sandbox: "approve", "deny" or
    /// "report".
    Result<void> try_sandbox_respond(std::uint64_t user_id, const Text &response,
                                     const Text &number = nullptr) const
    {
        return detail::run(seconder_sandbox_respond, get(), user_id, response.c_str(),
                           number.c_str());
    }

    /// Carries out any other operation of a test on a sandbox: see seconder_sandbox_operate().
    Result<OwnedText> try_sandbox_operate(const Text &name, const Text &parameters = "{}") const
    {
        return detail::call<OwnedText>(seconder_sandbox_operate, get(), name.c_str(),
                                       parameters.c_str());
    }

    /// Copies the database file while calls go on: see seconder_backup().
    Result<void> try_backup(const Text &path) const
    {
        return detail::run(seconder_backup, get(), path.c_str());
    }

    /// Carries out an operation of an operator, with its parameters and its reply as JSON objects:
    /// see seconder_operate().
    Result<OwnedText> try_operate(const Text &operation, const Text &parameters = "{}") const
    {
        return detail::call<OwnedText>(seconder_operate, get(), operation.c_str(),
                                       parameters.c_str());
    }

    /// Makes the attempts that are due to send messages and to post callbacks: see
    /// seconder_run_jobs(). Call it every few seconds.
    Result<JobsRun> try_run_jobs(std::chrono::milliseconds budget = std::chrono::seconds(5)) const
    {
        return detail::call<JobsRun>(seconder_run_jobs, get(), detail::from_now(budget));
    }

    /// Reads what an engine in this process has decided, page by page: see seconder_audit().
    Result<AuditPage> try_audit(const AuditOptions &options = {}) const
    {
        seconder_audit_options c = {};
        c.user_id = options.user_id;
        c.since = options.since;
        c.until = options.until;
        c.verdict = detail::text(options.verdict);
        c.after = detail::text(options.after);
        c.most = options.most;
        c.call = detail::text(options.call);
        c.user_ip = detail::text(options.user_ip);
        c.operator_name = detail::text(options.operator_name);
        return detail::call<AuditPage>(seconder_audit, get(), &c, sizeof c);
    }

#if SECONDER_EXCEPTIONS
    /// A second handle on the same connections, with another time limit or another choice of
    /// retries.
    Service with(std::chrono::milliseconds timeout, Repeats repeats = Repeats::standard) const
    {
        return try_with(timeout, repeats).value();
    }

    /// Sets the function that logs each call of this handle, and of those made from it later. An
    /// empty one removes it.
    void set_log(const Log &log) const { try_set_log(log).value(); }

    /// The application's API key, for an engine in this process.
    std::string_view api_key() const & { return try_api_key().value(); }
    std::string_view api_key() const && = delete;

    /// Waits for the answer, in this thread. The user may have denied the request: check
    /// Approval::approved_by().
    Approval wait_for_approval(const Text &uuid, std::uint64_t user_id,
                               std::chrono::milliseconds deadline,
                               const WaitForApprovalOptions &options = {}) const
    {
        return try_wait_for_approval(uuid, user_id, deadline, options).value();
    }

    /// Asks a user who logs in for the second factor, and decides: see seconder_login(). It fails
    /// unless the user may log in. Without a function, only what was typed before is checked.
    void login(const Text &login, const Converse &converse, const LoginOptions &options = {}) const
    {
        try_login(login, converse, options).value();
    }

    /// Registers a device, with an engine in this process.
    Device register_device(std::uint64_t user_id, const Text &device_type) const
    {
        return try_register_device(user_id, device_type).value();
    }

    /// Lists the approval requests that a device's user can still answer, with an engine in this
    /// process.
    ApprovalRequests open_approvals(std::uint64_t device_id, const Text &device_secret) const
    {
        return try_open_approvals(device_id, device_secret).value();
    }

    /// Answers an approval request from a device, with an engine in this process: "approve", "deny"
    /// or "report". `number` is what the user typed on the phone, if the request has a number.
    Approval respond_to_approval(const Text &uuid, std::uint64_t device_id,
                                 const Text &device_secret, const Text &response,
                                 const Text &number = nullptr) const
    {
        return try_respond_to_approval(uuid, device_id, device_secret, response, number).value();
    }

    /// Empties a sandbox: see seconder_clear_sandbox(). Any other service is an invalid argument.
    void clear_sandbox() const { try_clear_sandbox().value(); }

    /// Reads the messages that a sandbox has sent to a user, or all, the newest first.
    SentMessages sandbox_messages(std::uint64_t user_id = 0) const
    {
        return try_sandbox_messages(user_id).value();
    }

    /// Moves the time of a sandbox on.
    void sandbox_advance(std::chrono::seconds time) const { try_sandbox_advance(time).value(); }

    /// Lets calls of a sandbox fail: see seconder_sandbox_fail(). 0 times is without a limit.
    void sandbox_fail(const Text &fault, const Text &calls = nullptr, std::uint64_t times = 0) const
    {
        try_sandbox_fail(fault, calls, times).value();
    }

    /// Ends the faults of a sandbox.
    void sandbox_end_faults() const { try_sandbox_end_faults().value(); }

    /// Responds to the latest open approval request of a user of a sandbox: "approve", "deny" or
    /// "report".
    void sandbox_respond(std::uint64_t user_id, const Text &response,
                         const Text &number = nullptr) const
    {
        try_sandbox_respond(user_id, response, number).value();
    }

    /// Carries out any other operation of a test on a sandbox: see seconder_sandbox_operate().
    OwnedText sandbox_operate(const Text &name, const Text &parameters = "{}") const
    {
        return try_sandbox_operate(name, parameters).value();
    }

    /// Copies the database file while calls go on: see seconder_backup().
    void backup(const Text &path) const { try_backup(path).value(); }

    /// Carries out an operation of an operator, with its parameters and its reply as JSON objects:
    /// see seconder_operate().
    OwnedText operate(const Text &operation, const Text &parameters = "{}") const
    {
        return try_operate(operation, parameters).value();
    }

    /// Makes the attempts that are due to send messages and to post callbacks: see
    /// seconder_run_jobs(). Call it every few seconds.
    JobsRun run_jobs(std::chrono::milliseconds budget = std::chrono::seconds(5)) const
    {
        return try_run_jobs(budget).value();
    }

    /// Reads what an engine in this process has decided, page by page: see seconder_audit().
    AuditPage audit(const AuditOptions &options = {}) const { return try_audit(options).value(); }

#if defined(__cpp_lib_jthread)
    /// A second handle on the same connections, whose calls end when a stop is requested.
    StoppableService with(std::stop_token token) const;
#endif

    /// Enrols a user, or adds an e-mail address to the user who already has this cellphone
    /// (interface 4.1). Without a number, enrols a user by the e-mail address, or returns the user
    /// without a number who has it: for an application that has authenticator apps only.
    ///
    /// The person who typed the number or the address need not have it. Verify the number first,
    /// with start_phone_verification() and check_phone_verification(), or the address by an e-mail,
    /// and set `new_only`. Otherwise the second factor of the user who has it becomes the one of
    /// the person who typed it.
    UserCreated create_user(const Text &email, const std::optional<std::string> &cellphone = {},
                            const std::optional<std::string> &country_code = {},
                            const CreateUserOptions &options = {}) const
    {
        return try_create_user(email, cellphone, country_code, options).value();
    }

    /// Sends a code by SMS (interface 4.2).
    CodeRequested request_sms(std::uint64_t user_id, const RequestCodeOptions &options = {}) const
    {
        return try_request_sms(user_id, options).value();
    }

    /// Sends a code by voice call (interface 4.3).
    CodeRequested request_call(std::uint64_t user_id, const RequestCodeOptions &options = {}) const
    {
        return try_request_call(user_id, options).value();
    }

    /// Checks the code that a user typed (interface 4.4).
    ///
    /// Returns only if the code was checked and is correct. Status::token_wrong,
    /// Status::token_reused and Status::token_not_checked say why it was not accepted. Without
    /// `force`, the code of a user who is not confirmed yet is not checked.
    Verification verify(std::uint64_t user_id, const Text &token,
                        const VerifyOptions &options = {}) const
    {
        return try_verify(user_id, token, options).value();
    }

    /// Removes a user and all data about the user from the application (interface 4.5).
    Done delete_user(std::uint64_t user_id, const CallOptions &options = {}) const
    {
        return try_delete_user(user_id, options).value();
    }

    /// Reports a user's activity to the service, for fraud detection (interface 4.6).
    Done register_activity(std::uint64_t user_id, const Text &type,
                           const RegisterActivityOptions &options = {}) const
    {
        return try_register_activity(user_id, type, options).value();
    }

    /// Requests the service's record of the application (interface 4.7).
    Application app_details(const CallOptions &options = {}) const
    {
        return try_app_details(options).value();
    }

    /// Requests the service's record of a user (interface 4.8).
    UserStatusReply user_status(std::uint64_t user_id, const CallOptions &options = {}) const
    {
        return try_user_status(user_id, options).value();
    }

    /// Requests the application's usage, month by month (interface 4.9).
    Statistics app_stats(const CallOptions &options = {}) const
    {
        return try_app_stats(options).value();
    }

    /// Sends a code to a number that belongs to no user yet (interface 4.10).
    PhoneVerificationStarted
    start_phone_verification(const Text &via, const Text &phone_number, const Text &country_code,
                             const StartPhoneVerificationOptions &options = {}) const
    {
        return try_start_phone_verification(via, phone_number, country_code, options).value();
    }

    /// Requests the type of a phone number (interface 4.11).
    PhoneInformation phone_info(const Text &phone_number, const Text &country_code,
                                const CallOptions &options = {}) const
    {
        return try_phone_info(phone_number, country_code, options).value();
    }

    /// Asks a user to approve something on their device (interface 4.12). An engine keeps the five
    /// latest requests of a user open: a further one makes the oldest expire.
    ApprovalCreated create_approval(std::uint64_t user_id, const Text &message,
                                    const CreateApprovalOptions &options = {}) const
    {
        return try_create_approval(user_id, message, options).value();
    }

    /// Requests a user's response to an approval request (interface 4.13).
    ///
    /// Returning means that the request was found, not that the user approved it: call
    /// Approval::approved_by() on the reply.
    Approval check_approval(const Text &uuid) const { return try_check_approval(uuid).value(); }

    /// Checks the code that was sent to a number by start_phone_verification(). Returns only if the
    /// code is right.
    Done check_phone_verification(const Text &phone_number, const Text &country_code,
                                  const Text &verification_code) const
    {
        return try_check_phone_verification(phone_number, country_code, verification_code).value();
    }

    /// Requests the state of a number's verification, which start_phone_verification() began. It is
    /// identified either by its `uuid` or by the number.
    ///
    /// It is for display: a user proves to hold a number by check_phone_verification() alone, since
    /// anyone may have verified the number before.
    PhoneVerificationRecord
    phone_verification_status(const PhoneVerificationStatusOptions &options = {}) const
    {
        return try_phone_verification_status(options).value();
    }

    /// Issues a new secret for a user's authenticator app, with a QR code. A previous secret
    /// remains valid until a code of the new one has been accepted: check one with
    /// confirm_authenticator().
    AuthenticatorEnrolled enrol_authenticator(std::uint64_t user_id,
                                              const EnrolAuthenticatorOptions &options = {}) const
    {
        return try_enrol_authenticator(user_id, options).value();
    }

    /// Finds the user who has a login name, and what the user can log in with (interface 4.17).
    FoundUser find_user(const Text &login) const { return try_find_user(login).value(); }

    /// Gives a user a login name (interface 4.18). A user has one at most.
    Done set_login(std::uint64_t user_id, const Text &login) const
    {
        return try_set_login(user_id, login).value();
    }

    /// Takes a login name from the user who has it (interface 4.19).
    Done remove_login(const Text &login) const { return try_remove_login(login).value(); }

    /// Creates a set of recovery codes for a user, in place of any that the user has (interface
    /// 4.20). Show them to the user, who keeps them on paper: each is right once, as the token of
    /// verify(), and they are returned only here.
    RecoveryCodes create_recovery_codes(std::uint64_t user_id) const
    {
        return try_create_recovery_codes(user_id).value();
    }

    /// Prepares logins of a user while the service is unreachable: returns a hash of each code that
    /// the user's authenticator app will show in the next days (interface 4.21). The secret stays
    /// with the service. A machine must accept a step once, and none before it, and report each
    /// login with report_offline().
    ///
    /// The call requires the code of the app that the service has accepted just now, so only
    /// someone who was given that code can prepare anything, and once. The service must allow it:
    /// `offline_days` of seconder_open_options. A wrong code counts as a wrong code of verify()
    /// does.
    OfflinePrepared prepare_offline(std::uint64_t user_id, const Text &token,
                                    const PrepareOfflineOptions &options = {}) const
    {
        return try_prepare_offline(user_id, token, options).value();
    }

    /// Reports the logins that a machine has accepted while the service was unreachable (interface
    /// 4.22). The service marks their codes as used, and records each login as an activity of the
    /// user.
    ///
    /// A machine reports a login until a report of it was acknowledged; a login that is reported
    /// twice is recorded once.
    Done report_offline(std::uint64_t user_id, std::uint64_t authenticator_id,
                        const std::vector<OfflineLogin> &logins,
                        const ReportOfflineOptions &options = {}) const
    {
        return try_report_offline(user_id, authenticator_id, logins, options).value();
    }

    /// Checks a code of the authenticator app that enrol_authenticator() has enrolled last, if it
    /// is still pending, and of no other factor (interface 4.23). The right one makes it the user's
    /// app, in place of an earlier one. verify() accepts any code of the user, such as one by SMS,
    /// so it does not show that the user has scanned the new secret.
    ///
    /// Returns only if the code was checked and is correct. Status::token_wrong and
    /// Status::token_reused say why it was not accepted.
    Verification confirm_authenticator(std::uint64_t user_id, const Text &code) const
    {
        return try_confirm_authenticator(user_id, code).value();
    }

    /// Removes an authenticator app of a user, confirmed or pending (interface 4.24). Its codes are
    /// wrong from then on, except on machines that have prepared logins without the service
    /// (interface 4.21). A user who has no app and no device left is sent codes by SMS again.
    /// Removing a confirmed app also forgets the remembered browsers of the user.
    Done remove_authenticator(std::uint64_t user_id, const Text &authenticator_id) const
    {
        return try_remove_authenticator(user_id, authenticator_id).value();
    }

    /// Lists the devices that a user has registered for approval requests (interface 4.25).
    RegisteredDevices devices(std::uint64_t user_id) const { return try_devices(user_id).value(); }

    /// Removes a registered device of a user (interface 4.26). Its secret is void from then on, and
    /// the remembered browsers of the user are forgotten. Approval requests stay open for the
    /// user's other devices; a user who has no app and no device left is sent codes by SMS again.
    Done remove_device(std::uint64_t user_id, std::uint64_t device_id) const
    {
        return try_remove_device(user_id, device_id).value();
    }

    /// Remembers the browser of a user who has just proven the second factor, and returns a token
    /// for a cookie of it (interface 4.27). recognise() accepts the token in place of the second
    /// factor until it expires or forget() revokes it.
    ///
    /// The service does not check that there was a proof: the application calls this only after
    /// one, and only for users who ask for it. The cookie should be "Secure", "HttpOnly" and
    /// "SameSite=Lax". A user has at most 20 remembered browsers: for a further one, the oldest is
    /// forgotten.
    Remembered remember(std::uint64_t user_id, const RememberOptions &options = {}) const
    {
        return try_remember(user_id, options).value();
    }

    /// Forgets one remembered browser of a user, or all of them (interface 4.29). Their tokens are
    /// void from then on. Without a token, it forgets all of them: for a user who changes the
    /// password, loses a phone or asks to be logged out everywhere.
    Done forget(std::uint64_t user_id, const std::optional<std::string> &token = {}) const
    {
        return try_forget(user_id, token).value();
    }

    /// Lets a user try codes again after too many wrong ones (interface 4.30). The counts of wrong
    /// codes of all factors start again at 0, so it ends waits too. Codes that were sent have the
    /// tries that they had.
    Done unlock_user(std::uint64_t user_id) const { return try_unlock_user(user_id).value(); }

    /// Makes an invitation, by which a user registers a phone that approves logins and shows codes
    /// (interface 4.31). It can be used once, within ten minutes.
    DeviceInvited invite_device(std::uint64_t user_id,
                                const InviteDeviceOptions &options = {}) const
    {
        return try_invite_device(user_id, options).value();
    }

    /// Changes the phone number of a user, who proves to hold the new one by the code of
    /// start_phone_verification() (interface 4.32). The code is used up.
    ///
    /// The user keeps the id, the authenticator apps, the devices and the recovery codes. Codes
    /// that were sent to the former number are wrong from then on, remembered browsers are
    /// forgotten, and the devices of the user are notified.
    Done set_number(std::uint64_t user_id, const Text &phone_number, const Text &country_code,
                    const Text &verification_code, const CallOptions &options = {}) const
    {
        return try_set_number(user_id, phone_number, country_code, verification_code,
                              options).value();
    }

    /// Returns whether the browser is recognised. Every failure is thrown.
    bool recognise(std::uint64_t user_id, const Text &token) const
    {
        const Result<BrowserCheck> checked = try_recognise(user_id, token);
        if (checked.status() == Status::not_recognised)
            return false;
        return checked.value().user_id() == user_id;
    }
#endif
};

static_assert(sizeof(Service) == sizeof(void *), "an owner is as large as a pointer");

#if defined(__cpp_lib_jthread)
/// A handle whose calls end with Status::cancelled when a stop is requested, from Service::with():
///
///     service.with(token)->verify(user_id, typed);
class StoppableService {
public:
    /// Takes over a handle that makes no other calls.
    StoppableService(Service service, std::stop_token token)
        : service_(std::move(service)),
          callback_(std::make_unique<Callback>(std::move(token), Cancel{service_.get()}))
    {
    }
    StoppableService(StoppableService &&) noexcept = default;
    StoppableService &operator=(StoppableService &&other) noexcept
    {
        if (this != &other) {
            // The callback must not see a handle that was freed.
            callback_ = nullptr;
            service_ = std::move(other.service_);
            callback_ = std::move(other.callback_);
        }
        return *this;
    }

    const Service &operator*() const & noexcept { return service_; }
    const Service &operator*() const && = delete;
    const Service *operator->() const noexcept { return &service_; }

private:
    struct Cancel {
        seconder_service *service;
        void operator()() const noexcept { seconder_service_cancel(service); }
    };
    using Callback = std::stop_callback<Cancel>;

    Service service_;
    // Destroyed first. That waits for a stop that is being requested on another thread.
    std::unique_ptr<Callback> callback_;
};

inline Result<StoppableService> Service::try_with(std::stop_token token) const
{
    Result<Service> own = try_with(std::chrono::milliseconds(0));
    if (const Error *error = own.error())
        return *error;
    return StoppableService(std::move(own).value(), std::move(token));
}
#if SECONDER_EXCEPTIONS
inline StoppableService Service::with(std::stop_token token) const
{
    return try_with(std::move(token)).value();
}
#endif
#endif

/// The version of the library. The header's is SECONDER_VERSION.
inline std::string_view version() noexcept { return detail::view(seconder_version()); }

/// The parts of the library, such as "client engine postgres".
inline std::string_view parts() noexcept { return detail::view(seconder_parts()); }

namespace detail {

inline seconder_names names(const Names &given) noexcept
{
    seconder_names c = {};
    c.word = text(given.word);
    c.push_path = text(given.push_path);
    c.header_prefix = text(given.header_prefix);
    c.id_field = text(given.id_field);
    c.chrome_device = text(given.chrome_device);
    return c;
}

inline void functions(seconder_open_options &c, const OpenOptions &given)
{
    // All are copied before C owns any, so that nothing leaks if an allocation throws.
    auto deliver = given.deliver ? std::make_unique<Deliver>(given.deliver) : nullptr;
    auto post = given.post ? std::make_unique<Post>(given.post) : nullptr;
    auto lookup = given.lookup ? std::make_unique<Lookup>(given.lookup) : nullptr;
    if (deliver) {
        c.deliver = run_deliver;
        c.deliver_userdata = deliver.release();
        c.deliver_userdata_free = free_function<Deliver>;
    }
    if (post) {
        c.post = run_post;
        c.post_userdata = post.release();
        c.post_userdata_free = free_function<Post>;
    }
    if (lookup) {
        c.lookup = run_lookup;
        c.lookup_userdata = lookup.release();
        c.lookup_userdata_free = free_function<Lookup>;
    }
}

} // namespace detail

/// Opens a service. seconder_open() documents the URLs. An engine in this process needs no API key.
inline Result<Service> try_open(const Text &url, const Text &api_key = nullptr,
                                const OpenOptions &options = {})
{
    const seconder_names names = detail::names(options.names);
    const std::vector<const char *> pins = detail::texts(options.pins);
    const std::vector<const char *> name_servers = detail::texts(options.name_servers);
    seconder_open_options c = {};
    c.operator_token = detail::text(options.operator_token);
    c.ca_file = detail::text(options.ca_file);
    c.pins = pins.data();
    c.pins_count = pins.size();
    c.client_certificate = detail::text(options.client_certificate);
    c.client_key = detail::text(options.client_key);
    c.proxy = detail::text(options.proxy);
    c.name_servers = name_servers.data();
    c.name_servers_count = name_servers.size();
    c.keyring = detail::text(options.keyring);
    c.application_name = detail::text(options.application_name);
    c.callback_url = detail::text(options.callback_url);
    c.callback_ca_file = detail::text(options.callback_ca_file);
    c.install_link = detail::text(options.install_link);
    c.limits = detail::text(options.limits);
    c.texts = detail::text(options.texts);
    c.otp_domain = detail::text(options.otp_domain);
    c.plan = detail::text(options.plan);
    c.logo = detail::text(options.logo);
    c.push_hosts = detail::text(options.push_hosts);
    c.timeout_ms = detail::milliseconds(options.timeout);
    c.repeats = static_cast<std::int32_t>(options.repeats);
    c.service_uid = options.service_uid;
    c.format = static_cast<std::int32_t>(options.format);
    c.generation = static_cast<std::int32_t>(options.generation);
    c.callback_method = static_cast<std::int32_t>(options.callback_method);
    c.callback_private = detail::choice(options.callback_private);
    c.replies = static_cast<std::int32_t>(options.replies);
    c.offline_days = detail::number_or_zero(options.offline_days);
    c.white_label = detail::choice(options.white_label);
    c.sms_enabled = detail::choice(options.sms_enabled);
    c.force_codes = detail::choice(options.force_codes);
    c.approval_seconds = options.approval_seconds;
    c.token_length = options.token_length;
    c.authenticator_digits = options.authenticator_digits;
    c.authenticator_period = options.authenticator_period;
    c.allow_loopback_http = options.allow_loopback_http;
    c.nested_as_json = options.nested_as_json;
    c.must_exist = options.must_exist;
    c.names = &names;
    c.names_size = sizeof names;
    detail::functions(c, options);
    return detail::call<Service>(seconder_open, url.c_str(), api_key.c_str(), &c, sizeof c);
}

/// The same as Service::try_login(), with the service that the configuration names.
inline Result<void> try_login(const Text &login, const Converse &converse,
                              const LoginOptions &options = {})
{
    return detail::login(nullptr, login, converse, options);
}

/// A callback as it was received. Leave missing fields empty.
struct Callback {
    /// The callback URL as configured with the service. Never take it from the request's Host
    /// header.
    std::string url = {};
    /// "POST" or "GET".
    std::string method = {};
    /// The raw query of a GET request, without the `?`.
    std::string query = {};
    /// The raw body of a POST request.
    std::string body = {};
    /// The header X-Svc-Signature.
    std::string signature = {};
    /// The header X-Svc-Signature-Nonce.
    std::string nonce = {};
};

namespace detail {

inline seconder_callback callback(const Callback &given) noexcept
{
    seconder_callback c = {};
    c.url = text_if(given.url);
    c.method = text_if(given.method);
    c.query = text_if(given.query);
    c.body = given.body.data();
    c.body_size = given.body.size();
    c.signature = text_if(given.signature);
    c.nonce = text_if(given.nonce);
    return c;
}

} // namespace detail

/// Verifies a callback's signature and parses it. The user may have denied the request: check
/// Event::approved_by().
inline Result<Event> try_verify_callback(const Text &api_key, const Callback &received)
{
    const seconder_callback c = detail::callback(received);
    return detail::call<Event>(seconder_callback_verify, api_key.c_str(), &c, sizeof c);
}

/// Verifies a callback's signature alone, and returns the parameters that it covers, in JSON.
inline Result<OwnedText> try_verify_callback_parameters(const Text &api_key,
                                                        const Callback &received)
{
    const seconder_callback c = detail::callback(received);
    return detail::call<OwnedText>(seconder_callback_verify_parameters, api_key.c_str(), &c,
                                   sizeof c);
}

/// Signs a JSON body that is posted to `url`, as a service does.
inline Result<OwnedText> try_sign_callback(const Text &api_key, const Text &nonce,
                                           const Text &url, std::string_view body)
{
    return detail::call<OwnedText>(seconder_callback_sign, api_key.c_str(), nonce.c_str(),
                                   url.c_str(), body.data(), body.size());
}

/// Signs the query of a GET request to `url`, as a service does.
inline Result<OwnedText> try_sign_callback_query(const Text &api_key, const Text &nonce,
                                                 const Text &url, const Text &query)
{
    return detail::call<OwnedText>(seconder_callback_sign_query, api_key.c_str(), nonce.c_str(),
                                   url.c_str(), query.c_str());
}

/// Converts the parameters of a JSON body to a query, sorted and encoded as they are signed.
inline Result<OwnedText> try_callback_query(std::string_view body)
{
    return detail::call<OwnedText>(seconder_callback_query, body.data(), body.size());
}

/// Options of a Verifier, documented in seconder_verifier_options.
struct VerifierOptions {
    std::vector<std::string> urls = {};
    std::uint32_t fresh_seconds = 0;
    Names names = {};
    std::size_t replay_capacity = 0;
    Replay replay = {};
};

/// Verifies callbacks. Create one, keep it, and share it between threads.
class Verifier : public detail::Handle<seconder_verifier, seconder_verifier_free> {
public:
    using Handle::Handle;

    static Result<Verifier> try_make(const Text &api_key, const VerifierOptions &options = {})
    {
        const std::vector<const char *> urls = detail::texts(options.urls);
        const seconder_names names = detail::names(options.names);
        seconder_verifier_options c = {};
        c.urls = urls.data();
        c.urls_count = urls.size();
        c.fresh_seconds = options.fresh_seconds;
        c.names = &names;
        c.names_size = sizeof names;
        c.replay_capacity = options.replay_capacity;
        if (options.replay) {
            c.replay = detail::run_replay;
            c.replay_userdata = std::make_unique<Replay>(options.replay).release();
            c.replay_userdata_free = detail::free_function<Replay>;
        }
        return detail::call<Verifier>(seconder_verifier_new, api_key.c_str(), &c, sizeof c);
    }

    /// Verifies and parses a callback, at a time in Unix seconds. The user may have denied the
    /// request: check Event::approved_by().
    Result<Event> try_verify(const Callback &received, std::uint64_t now) const
    {
        const seconder_callback c = detail::callback(received);
        return detail::call<Event>(seconder_verifier_verify, get(), &c, sizeof c, now);
    }

    /// Verifies the signature alone, and returns the parameters that it covers, in JSON.
    Result<OwnedText> try_parameters(const Callback &received) const
    {
        const seconder_callback c = detail::callback(received);
        return detail::call<OwnedText>(seconder_verifier_parameters, get(), &c, sizeof c);
    }

#if SECONDER_EXCEPTIONS
    static Verifier make(const Text &api_key, const VerifierOptions &options = {})
    {
        return try_make(api_key, options).value();
    }

    /// Verifies and parses a callback, at a time in Unix seconds. The user may have denied the
    /// request: check Event::approved_by().
    Event verify(const Callback &received, std::uint64_t now) const
    {
        return try_verify(received, now).value();
    }

    /// Verifies the signature alone, and returns the parameters that it covers, in JSON.
    OwnedText parameters(const Callback &received) const
    {
        return try_parameters(received).value();
    }
#endif
};

/// Options of a Totp, documented in seconder_totp_options.
struct TotpOptions {
    Algorithm algorithm = Algorithm::standard;
    std::uint32_t digits = 0;
    std::uint32_t period = 0;
};

/// A secret that an authenticator app and a service share, with the parameters for generating codes
/// from it.
class Totp : public detail::Handle<seconder_totp, seconder_totp_free> {
public:
    using Handle::Handle;

    /// Creates a Totp from the bytes of a secret, 10 to 128 of them. A new secret should have 20.
    static Result<Totp> try_make(std::string_view secret, const TotpOptions &options = {})
    {
        seconder_totp_options c = {};
        c.algorithm = static_cast<std::int32_t>(options.algorithm);
        c.digits = options.digits;
        c.period = options.period;
        return detail::call<Totp>(seconder_totp_new, secret.data(), secret.size(), &c, sizeof c);
    }

    /// Parses an otpauth: URI.
    static Result<Totp> try_from_uri(const Text &uri)
    {
        return detail::call<Totp>(seconder_totp_from_uri, uri.c_str());
    }

    /// The otpauth: URI that transfers the secret to an app. Neither text may have a colon.
    Result<OwnedText> try_uri(const Text &issuer, const Text &label) const
    {
        return detail::call<OwnedText>(seconder_totp_uri, get(), issuer.c_str(), label.c_str());
    }

    /// The code that an app shows at a given time, in Unix seconds.
    Result<OwnedText> try_code(std::uint64_t unix_seconds) const
    {
        return detail::call<OwnedText>(seconder_totp_code, get(), unix_seconds);
    }

    /// Checks a code, and fails unless it is correct. Then `last_step` must be stored before anyone
    /// is let in, as seconder_totp_check() describes.
    Result<void> try_check(const Text &token, std::uint64_t unix_seconds,
                           std::uint64_t &last_step) const
    {
        return detail::run(seconder_totp_check, get(), token.c_str(), unix_seconds, &last_step);
    }

    /// The hash with which codes are generated: one of Algorithm.
    Algorithm algorithm() const noexcept
    {
        return static_cast<Algorithm>(seconder_totp_algorithm(get()));
    }

    /// The number of digits of a code.
    std::uint32_t digits() const noexcept { return seconder_totp_digits(get()); }

    /// The time for which a code is shown, in seconds.
    std::uint64_t period() const noexcept { return seconder_totp_period(get()); }

    /// The bytes of the secret, for storage.
    std::string_view secret() const & noexcept
    {
        return {static_cast<const char *>(seconder_totp_secret(get())),
                seconder_totp_secret_size(get())};
    }
    std::string_view secret() const && = delete;

#if SECONDER_EXCEPTIONS
    /// Creates a Totp from the bytes of a secret, 10 to 128 of them. A new secret should have 20.
    static Totp make(std::string_view secret, const TotpOptions &options = {})
    {
        return try_make(secret, options).value();
    }

    /// Parses an otpauth: URI.
    static Totp from_uri(const Text &uri) { return try_from_uri(uri).value(); }

    /// The otpauth: URI that transfers the secret to an app. Neither text may have a colon.
    OwnedText uri(const Text &issuer, const Text &label) const
    {
        return try_uri(issuer, label).value();
    }

    /// The code that an app shows at a given time, in Unix seconds.
    OwnedText code(std::uint64_t unix_seconds) const { return try_code(unix_seconds).value(); }

    /// Checks a code, and fails unless it is correct. Then `last_step` must be stored before anyone
    /// is let in, as seconder_totp_check() describes.
    void check(const Text &token, std::uint64_t unix_seconds, std::uint64_t &last_step) const
    {
        try_check(token, unix_seconds, last_step).value();
    }
#endif
};

/// Checks a code while the service is unreachable, and fails unless it is correct. `codes` is what
/// Service::prepare_offline() returned for the user. Then `last_step`, which begins with
/// codes.last_step(), must be stored before anyone is let in: see seconder_offline_check().
inline Result<void> try_check_offline(const OfflinePrepared &codes, std::uint64_t user_id,
                                      const Text &token, std::uint64_t unix_seconds,
                                      std::uint64_t &last_step)
{
    seconder_offline_codes c = {};
    c.user_id = user_id;
    c.digits = codes.digits();
    c.period = codes.period();
    c.first_step = codes.first_step();
    c.expires_at = codes.expires_at();
    c.hash_key = seconder_offline_prepared_hash_key(codes.get());
    c.hashes = seconder_offline_prepared_hashes(codes.get());
    return detail::run(seconder_offline_check, &c, sizeof c, token.c_str(), unix_seconds,
                       &last_step);
}

/// Says whether a text has the form of a token. It says nothing about whether the token is right:
/// Service::verify() does.
[[nodiscard]] inline bool is_well_formed_token(const Text &text) noexcept
{
    return seconder_is_well_formed_token(text.c_str());
}

/// Says whether a text has the form of a user's id.
[[nodiscard]] inline bool is_well_formed_user_id(const Text &text) noexcept
{
    return seconder_is_well_formed_user_id(text.c_str());
}

/// Says whether a text has the form of an approval request's uuid.
[[nodiscard]] inline bool is_well_formed_uuid(const Text &text) noexcept
{
    return seconder_is_well_formed_uuid(text.c_str());
}

/// Says whether a text has the form of a phone number without its calling code.
[[nodiscard]] inline bool is_well_formed_phone_number(const Text &text) noexcept
{
    return seconder_is_well_formed_phone_number(text.c_str());
}

#if SECONDER_EXCEPTIONS
/// Opens a service. seconder_open() documents the URLs. An engine in this process needs no API key.
inline Service open(const Text &url, const Text &api_key = nullptr, const OpenOptions &options = {})
{
    return try_open(url, api_key, options).value();
}

/// The same as Service::try_login(), with the service that the configuration names.
inline void login(const Text &login, const Converse &converse, const LoginOptions &options = {})
{
    try_login(login, converse, options).value();
}

/// Verifies a callback's signature and parses it. The user may have denied the request: check
/// Event::approved_by().
inline Event verify_callback(const Text &api_key, const Callback &received)
{
    return try_verify_callback(api_key, received).value();
}

/// Verifies a callback's signature alone, and returns the parameters that it covers, in JSON.
inline OwnedText verify_callback_parameters(const Text &api_key, const Callback &received)
{
    return try_verify_callback_parameters(api_key, received).value();
}

/// Signs a JSON body that is posted to `url`, as a service does.
inline OwnedText sign_callback(const Text &api_key, const Text &nonce, const Text &url,
                               std::string_view body)
{
    return try_sign_callback(api_key, nonce, url, body).value();
}

/// Signs the query of a GET request to `url`, as a service does.
inline OwnedText sign_callback_query(const Text &api_key, const Text &nonce, const Text &url,
                                     const Text &query)
{
    return try_sign_callback_query(api_key, nonce, url, query).value();
}

/// Converts the parameters of a JSON body to a query, sorted and encoded as they are signed.
inline OwnedText callback_query(std::string_view body) { return try_callback_query(body).value(); }

/// Checks a code while the service is unreachable, and fails unless it is correct. `codes` is what
/// Service::prepare_offline() returned for the user. Then `last_step`, which begins with
/// codes.last_step(), must be stored before anyone is let in: see seconder_offline_check().
inline void check_offline(const OfflinePrepared &codes, std::uint64_t user_id, const Text &token,
                          std::uint64_t unix_seconds, std::uint64_t &last_step)
{
    try_check_offline(codes, user_id, token, unix_seconds, last_step).value();
}
#endif

} // namespace SECONDER_MODE
} // namespace seconder

#endif /* SECONDER_HPP */
