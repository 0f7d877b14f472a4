/* The C++ wrapper with an engine in this process: owners, errors, texts, functions. */
#include "check.hpp"

#include <ctime>
#include <stdexcept>
#include <thread>
#include <type_traits>

using namespace seconder;

Service opened_remotely();

template <class T> constexpr bool is_owner()
{
    return std::is_nothrow_move_constructible_v<T> && std::is_nothrow_move_assignable_v<T> &&
           !std::is_copy_constructible_v<T> && !std::is_copy_assignable_v<T> &&
           sizeof(T) == sizeof(void *);
}

static_assert(is_owner<Service>() && is_owner<OwnedText>() && is_owner<UserCreated>());
static_assert(is_owner<Done>() && is_owner<UserStatusReply>() && is_owner<CodeRequested>());
static_assert(is_owner<Verification>() && is_owner<AuthenticatorEnrolled>());
static_assert(is_owner<FoundUser>() && is_owner<RecoveryCodes>());
static_assert(is_owner<OfflinePrepared>() && is_owner<RegisteredDevices>());
static_assert(is_owner<DeviceInvited>());
static_assert(is_owner<ApprovalCreated>() && is_owner<Approval>() && is_owner<Event>());
static_assert(is_owner<PhoneVerificationStarted>() && is_owner<PhoneInformation>());
static_assert(is_owner<Application>() && is_owner<Statistics>() && is_owner<Device>());
static_assert(is_owner<ApprovalRequests>() && is_owner<Verifier>() && is_owner<Totp>());
static_assert(is_owner<AuditPage>() && is_owner<JobsRun>());
static_assert(is_owner<SentMessages>());
static_assert(std::is_nothrow_copy_constructible_v<Error>);
static_assert(!std::is_constructible_v<bool, Approval>, "an approval must not convert to bool");

static void owners_move()
{
    Service first = opened_remotely();
    Service second = std::move(first);
    CHECK(first.get() == nullptr && second.get() != nullptr);
    CHECK(THROWN(first.app_details()) == Status::invalid_argument);
    CHECK(second.app_details().app_id() > 0);
    first = std::move(second);
    seconder_service *raw = first.release();
    CHECK(first.get() == nullptr);
    CHECK(Service(raw).try_app_details());
    CHECK(version() == SECONDER_VERSION);
    CHECK(parts() == "client engine postgres");
}

static void errors_give_reasons()
{
    const Service service = opened_remotely();
    const std::uint64_t id = service.create_user("ada@example.com", "555-010-0123", "1").user_id();

    Result<Verification> wrong = service.try_verify(id, "1234567", VerifyOptions{true, {}});
    CHECK(!wrong && wrong.status() == Status::token_wrong && wrong.error() != nullptr);
    CHECK(THROWN(wrong.value()) == Status::token_wrong);
    CHECK(THROWN(*wrong) == Status::token_wrong);
    CHECK(THROWN(service.verify(id, "1234567", VerifyOptions{true, {}})) == Status::token_wrong ||
          service.try_verify(id, "1234567").status() == Status::rate_limited);

    service.clear_sandbox();
    CHECK(service.try_user_status(id).status() == Status::rejected);

    Result<Verification> malformed = service.try_verify(id, "../sms");
    CHECK(malformed.status() == Status::token_malformed);
    CHECK(seconder::name(malformed.status()) == "SECONDER_TOKEN_MALFORMED");
    const Error copy = *malformed.error();
    CHECK(copy.parameter() == "token" && copy.message() == copy.what());
    CHECK(copy.fields().size() == 1 && copy.fields()[0].name == "token");
    CHECK(!copy.retry_safe() && copy.retry_after().count() == 0 && copy.http_status() == 0);
    CHECK(copy.limit().empty() && !copy.is_operator_limit());
    CHECK(copy.stage() == Stage::none && copy.service_code().data() == nullptr);
    CHECK(copy.service_message().data() == nullptr);

    // An error reports the same after it was moved from, so that a result never loses its error.
    const Result<Verification> moved = std::move(malformed);
    CHECK(malformed.error() != nullptr && malformed.error()->message() == copy.message());
    CHECK(moved.error() != nullptr && moved.error()->message() == copy.message());

    const Result<UserStatusReply> unknown = service.try_user_status(999999);
    CHECK(unknown.status() == Status::rejected && unknown.error()->http_status() == 404);
    CHECK(!unknown.error()->service_code().empty());
    CHECK(!unknown.error()->service_message().empty());
}

static void texts_are_passed_whole_or_rejected()
{
    const Service service = opened_remotely();
    const UserCreated user = service.create_user("ada@example.com", "555-010-0123", "1");
    const UserCreated other = service.create_user("ada@example.com");
    CHECK(other.user_id() != user.user_id());
    CHECK(service.create_user("ada@example.com").user_id() == other.user_id());

    const std::string right = "0000000";
    const std::string longer = "00000001";
    const std::string_view part = std::string_view(longer).substr(0, 7);
    CHECK(service.try_verify(user.user_id(), right));
    CHECK(service.try_verify(user.user_id(), part));

    using namespace std::string_literals;
    using namespace std::string_view_literals;
    CHECK(service.try_verify(user.user_id(), "0000000\0x"s).status()
          == Status::token_malformed);
    CHECK(service.try_verify(user.user_id(), "0000000\0"sv).status()
          == Status::token_malformed);
    CHECK(service.try_verify(user.user_id(), std::string_view()).status()
          == Status::invalid_argument);
    CHECK(service.try_verify(user.user_id(), nullptr).status() == Status::invalid_argument);

    VerifyOptions cut{true, {}};
    cut.action = "transfer\0x"s;
    CHECK(service.try_verify(user.user_id(), right, cut).status() == Status::invalid_argument);

    const UserStatusReply status = service.user_status(user.user_id());
    CHECK(status.user_id() == user.user_id() && status.country_code() == 1);
    CHECK(status.phone_number() == "XXX-XXX-0123" && !status.account_disabled());
    CHECK(!status.registered() && !status.has_hard_token());
    CHECK(status.devices().size() == seconder_user_status_reply_device_count(status.get()));
    CHECK(!status.message().empty() && !user.message().empty());
}

static void browsers(const Service &service, std::uint64_t user)
{
    const Remembered remembered = service.remember(user, {/*days*/ 7});
    const std::string token(remembered.token());
    CHECK(token.size() <= 200 && remembered.expires_at() > 0 && !remembered.message().empty());
    const Result<BrowserCheck> check = service.try_recognise(user, token);
    CHECK(check && check->user_id() == user && check->message().empty());
    CHECK(service.recognise(user, token) && !service.recognise(user + 1000, token));
    const Result<BrowserCheck> other = service.try_recognise(user + 1000, token);
    CHECK(!other && other.status() == Status::not_recognised);
    CHECK(!service.recognise(user, "made up") && !service.recognise(user, ""));
    CHECK(service.try_recognise(0, token).status() == Status::invalid_argument);
    CHECK(THROWN(service.recognise(0, token)) == Status::invalid_argument);
    const Done nothing = service.forget(user, std::string());
    CHECK(!nothing.message().empty() && service.recognise(user, token));
    const Done forgotten = service.forget(user, token);
    CHECK(!forgotten.message().empty() && !service.recognise(user, token));
    const Remembered again = service.remember(user);
    const Done all = service.forget(user);
    CHECK(!all.message().empty() && !service.recognise(user, std::string(again.token())));
    CHECK(service.try_forget(user + 1000).status() == Status::rejected);
    CHECK(service.try_remember(user, {/*days*/ 401}).status() == Status::invalid_argument);
}

static void factors()
{
    const Service service = open("sandbox:?accept=right");
    const std::uint64_t id = service.create_user("ada@example.com", "555-010-0123", "1").user_id();
    CHECK(service.try_confirm_authenticator(id, "123456").status() == Status::rejected);
    const AuthenticatorEnrolled enrolled = service.enrol_authenticator(id);
    const OwnedText code = Totp::from_uri(enrolled.uri())
                               .code(static_cast<std::uint64_t>(std::time(nullptr)));
    const Result<Verification> wrong = service.try_confirm_authenticator(id, "1234567");
    CHECK(wrong.status() == Status::token_wrong);
    const Verification right = service.confirm_authenticator(id, code.value());
    CHECK(right.device() != nullptr);
    const Device device = service.register_device(id, "ios");

    const UserStatusReply status = service.user_status(id);
    const std::optional<Factors> found = status.factors();
    CHECK(found.has_value() && found->sms() && found->recovery_codes() == 0);
    CHECK(found->authenticators().size() == 1 && found->devices().size() == 1);
    const seconder_authenticator *app = found->authenticators()[0];
    CHECK(app->confirmed && app->label == nullptr && app->created_at > 0);
    CHECK(found->devices()[0]->id == device.id());

    CHECK(!found->codes_locked() && !found->authenticators_locked());
    const Done unlocked = service.unlock_user(id);
    CHECK(!found->recovery_codes_locked() && !unlocked.message().empty());
    CHECK(service.try_unlock_user(id + 1000).status() == Status::rejected);

    const RegisteredDevices listed = service.devices(id);
    CHECK(listed.devices().size() == 1 && !listed.message().empty());
    CHECK(listed.devices()[0]->type == std::string_view("ios"));
    const Done gone = service.remove_device(id, device.id());
    CHECK(!gone.message().empty());
    CHECK(service.try_remove_device(id, device.id()).status() == Status::rejected);
    const Done removed = service.remove_authenticator(id, app->id);
    CHECK(!removed.message().empty());
    CHECK(service.try_remove_authenticator(id, app->id).status() == Status::rejected);
}

static void offline()
{
    OpenOptions options;
    options.offline_days = 1;
    const Service service = open("sandbox:?accept=right", nullptr, options);
    const std::uint64_t id = service.create_user("ada@example.com", "555-010-0123", "1").user_id();
    const AuthenticatorEnrolled enrolled = service.enrol_authenticator(id);
    const OwnedText code = Totp::from_uri(enrolled.uri())
                               .code(static_cast<std::uint64_t>(std::time(nullptr)));
    static_cast<void>(service.verify(id, code.value()));
    PrepareOfflineOptions prepare{2, "door"};
    const OfflinePrepared prepared = service.prepare_offline(id, code.value(), prepare);
    CHECK(prepared.digits() == 6 && prepared.period() == 30 && !prepared.message().empty());
    CHECK(prepared.first_step() == prepared.last_step() + 1 && prepared.expires_at() > 0);
    CHECK(prepared.hash_key().size() == 44 && prepared.hashes().size() > 30000);
    std::uint64_t last_step = prepared.last_step();
    const std::uint64_t next = prepared.first_step() * prepared.period();
    const OwnedText shown = Totp::from_uri(enrolled.uri()).code(next);
    check_offline(prepared, id, shown.value(), next, last_step);
    CHECK(last_step == prepared.first_step());
    CHECK(try_check_offline(prepared, id, shown.value(), next, last_step).status() ==
          Status::token_reused);
    const std::vector<OfflineLogin> logins = {{prepared.first_step(), 1}};
    ReportOfflineOptions report{"door"};
    const std::uint64_t app = prepared.authenticator_id();
    const Done done = service.report_offline(id, app, logins, report);
    CHECK(!done.message().empty());
    options.offline_days = 0;
    CHECK(open("sandbox:", nullptr, options).try_prepare_offline(1, "123456").status() ==
          Status::rejected);
}

static void every_reply_is_read()
{
    const Service service = opened_remotely();
    const UserCreated user = service.create_user("ada@example.com", "555-010-0123", "1",
                                                 CreateUserOptions{false, true});
    CHECK(user.created() == true);
    CHECK(service.create_user("ada@example.com", "555-010-0123", "1").created() == false);
    const CreateUserOptions only_new{{}, true};
    CHECK(service.try_create_user("eve@example.com", "555-010-0123", "1", only_new).status() ==
          Status::rejected);
    const CodeRequested code = service.request_sms(user.user_id());
    CHECK(!code.ignored() && code.cellphone() == "+1-XXX-XXX-XX23" && !code.message().empty());
    CHECK(code.device().data() == nullptr);
    CHECK(!service.request_call(user.user_id()).ignored());
    const Service limited = open("sandbox:?accept=right");
    const std::uint64_t id = limited.create_user("ada@example.com", "555-010-0123", "1").user_id();
    CHECK(limited.request_call(id).resend_after() == std::chrono::seconds(30));
    CHECK(service.request_call(user.user_id()).resend_after() == std::chrono::seconds(0));
    const Result<CodeRequested> soon = limited.try_request_call(id);
    CHECK(soon.status() == Status::rate_limited && soon.error()->retry_after().count() > 0);
    CHECK(soon.error()->service_code() == "60003");

    const AuthenticatorEnrolled enrolled = service.enrol_authenticator(user.user_id());
    CHECK(enrolled.uri().substr(0, 15) == "otpauth://totp/" && !enrolled.qr_code().empty());
    CHECK(enrolled.label() == "ada@example.com" && !enrolled.issuer().empty());

    const Done named = service.set_login(user.user_id(), "ada");
    CHECK(!named.message().empty());
    const RecoveryCodes recovery = service.create_recovery_codes(user.user_id());
    CHECK(recovery.codes().size() == 10 && recovery.codes()[9].size() == 12);
    CHECK(!recovery.message().empty());
    const FoundUser found = service.find_user("ada");
    CHECK(found.user_id() == user.user_id() && found.login() == "ada" && !found.authenticator());
    CHECK(found.recovery_codes_left() == 10 && found.confirmed() == !found.devices().empty());
    const Done removed = service.remove_login("ada");
    CHECK(!found.message().empty() && !removed.message().empty());
    CHECK(service.try_find_user("ada").status() == Status::rejected);
    CHECK(service.try_find_user("-ada").status() == Status::invalid_argument);
    browsers(service, user.user_id());
    offline();
    factors();

    const PhoneVerificationStarted started =
        service.start_phone_verification("sms", "555-010-0199", "1");
    CHECK(!started.message().empty());
    PhoneVerificationStatusOptions which;
    which.uuid = std::string(started.uuid());
    const PhoneVerificationRecord record = service.phone_verification_status(which);
    CHECK(record.status() == "pending" && record.seconds_to_expire() > 500);
    CHECK(!record.message().empty());
    CHECK(service.try_phone_verification_status({}).status() == Status::invalid_argument);
    CHECK(started.seconds_to_expire() > 0);
    static_cast<void>(started.is_ported());
    static_cast<void>(started.is_cellphone());
    static_cast<void>(started.carrier());
    const Result<Done> unequal = service.try_check_phone_verification("555-010-0199", "1", "0001");
    CHECK(unequal.status() == Status::token_wrong && unequal.error()->service_code() == "60022");
    const PhoneInformation phone = service.phone_info("555-010-0199", "1");
    CHECK(!phone.type().empty() && !phone.message().empty());
    static_cast<void>(phone.ported());
    static_cast<void>(phone.provider());

    const Application application = service.app_details();
    CHECK(application.app_id() > 0 && !application.name().empty());
    CHECK(!application.plan().empty() && application.sms_enabled());
    CHECK(application.phone_calls_enabled() && application.push_enabled());
    CHECK(!application.white_label() && !application.message().empty());
    const Statistics statistics = service.app_stats();
    CHECK(!statistics.stats().empty() && statistics.stats().back()->users_count == 1);
    CHECK(statistics.count() == statistics.stats().size());
    CHECK(statistics.total_users() == 1 && statistics.app_id() == application.app_id());
    CHECK(!statistics.message().empty());

    const Done done = service.register_activity(user.user_id(), "password_reset");
    CHECK(!done.message().empty());
    CHECK(service.with(std::chrono::seconds(1)).try_delete_user(user.user_id()));
    CHECK(service.try_with(std::chrono::hours(24 * 365)).status() == Status::invalid_argument);
}

static void functions_may_throw(const std::string &folder)
{
    auto held = std::make_shared<std::string>();
    {
        OpenOptions options;
        options.deliver = [held](const Message &message) -> bool {
            *held = message.to();
            throw std::runtime_error("the gateway is on fire");
        };
        const Service service = open("sqlite:" + folder + "/deliver.db", nullptr, options);
        const std::uint64_t id =
            service.create_user("ada@example.com", "555-010-0123", "1").user_id();
        const Result<CodeRequested> failed = service.try_request_sms(id);
        CHECK(failed.status() == Status::unavailable);
        CHECK(failed.error()->message().find("the gateway is on fire") != std::string_view::npos);
        CHECK(*held == "+15550100123");

        options.deliver = nullptr;
        CHECK(held.use_count() == 2);
    }
    CHECK(held.use_count() == 1);

    OpenOptions rejected;
    rejected.deliver = [held](const Message &) { return true; };
    rejected.post = [held](const SignedCallback &) { return true; };
    CHECK(try_open("nonsense:", nullptr, rejected).status() == Status::invalid_argument);
    rejected = {};
    CHECK(held.use_count() == 1);
}

static void messages_arrive(const std::string &folder)
{
    std::string code;
    OpenOptions options;
    options.deliver = [&code](const Message &message) {
        code = message.code();
        return message.to() == "+15550100123" && message.via() == "sms" &&
               message.text().find(message.code()) != std::string_view::npos &&
               message.expires_at() > 0;
    };
    const Service service = open("sqlite:" + folder + "/messages.db", nullptr, options);
    const OwnedText limits = service.operate("limits.set", R"({"limits":"number_day=7"})");
    CHECK(limits.value().find(R"("number_day":7,)") != std::string_view::npos);
    CHECK(service.operate("route.list").str() == R"({"routes":[]})");
    CHECK(service.try_operate("route.lists").status() == Status::invalid_argument);
    service.backup(folder + "/copy.db");
    CHECK(service.try_backup(folder + "/copy.db").status() == Status::storage);
    const std::uint64_t id = service.create_user("ada@example.com", "555-010-0123", "1").user_id();
    service.request_sms(id);
    CHECK(code.size() == 7);
    const VerifyOptions unforced{false, {}};
    CHECK(service.try_verify(id, code, unforced).status() == Status::token_not_checked);
    const Verification verification = service.verify(id, code);
    CHECK(service.user_status(id).confirmed());
    CHECK(verification.message().data() == nullptr);
    static_cast<void>(verification.device());
    CHECK(service.try_verify(id, code).status() == Status::token_reused);
}

static void messages_are_sent_again(const std::string &folder)
{
    std::vector<Outcome> outcomes;
    std::vector<std::string> ids;
    OpenOptions options;
    options.deliver = [&](const Message &message) {
        ids.emplace_back(message.id());
        const Outcome outcome = outcomes.back();
        outcomes.pop_back();
        return outcome;
    };
    const Service service = open("sqlite:" + folder + "/jobs.db", nullptr, options);
    const std::uint64_t id = service.create_user("ada@example.com", "555-010-0123", "1").user_id();
    outcomes = {Outcome::permanent("the number is not in service"), false,
                Outcome::retry(std::chrono::hours(1), "the gateway is busy")};
    for (const char *reason : {"busy", "returned -1", "not in service"}) {
        const auto sent = service.try_request_sms(id);
        CHECK(sent.status() == Status::unavailable);
        CHECK(sent.error()->message().find(reason) != std::string_view::npos);
    }
    ids.clear();
    outcomes = {Outcome::sent("SM-1"), Outcome::ambiguous("the connection was lost")};
    service.request_sms(id);
    CHECK(service.run_jobs(std::chrono::milliseconds(0)).more());
    for (int tries = 0; !outcomes.empty(); ++tries) {
        CHECK(tries < 1200);
        const JobsRun run = service.run_jobs();
        CHECK(run.sent() == (outcomes.empty() ? 1 : 0));
        CHECK(run.waiting() == 0 && run.failed() == 0);
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    CHECK(ids.size() == 2 && ids[0] == ids[1]);
    CHECK(open("https://127.0.0.1:1", "key").try_run_jobs().status() == Status::invalid_argument);
}

static void the_audit_is_read_page_by_page(const std::string &folder)
{
    std::string code;
    OpenOptions given;
    given.deliver = [&code](const Message &message) {
        code = message.code();
        return true;
    };
    const Service service = open("sqlite:" + folder + "/audit.db", nullptr, given);
    const std::uint64_t id = service.create_user("ada@example.com", "555-010-0123", "1").user_id();
    service.request_sms(id);
    static_cast<void>(service.verify(id, code, VerifyOptions{true, {}}));
    AuditOptions options;
    options.user_id = id;
    options.most = 2;
    std::vector<std::string> verdicts;
    do {
        const AuditPage page = service.audit(options);
        for (const seconder_audit_entry *entry : page.entries()) {
            CHECK(entry->user_id == id && entry->time_ms > 0 && entry->times == 1);
            verdicts.emplace_back(entry->verdict);
        }
        options.after = page.next();
    } while (options.after);
    CHECK(verdicts.size() == 3);
    options.verdict = "sent";
    const AuditPage sent = service.audit(options);
    CHECK(sent.entries().size() == 1 && !sent.next());
    const std::string_view number = sent.entries()[0]->number;
    CHECK(number == "+1-XXX-XXX-XX23" && sent.entries()[0]->over_limit == nullptr);
    const auto count = [&] {
        const AuditPage page = service.audit(options);
        return page.entries().size();
    };
    options.call = "verify";
    CHECK(count() == 0);
    options.verdict.reset();
    CHECK(count() == 1);
    options.operator_name = "ada";
    CHECK(count() == 0);
    options.user_ip = "localhost";
    CHECK(service.try_audit(options).status() == Status::invalid_argument);
    options.user_ip.reset();
    options.most = 1001;
    CHECK(service.try_audit(options).status() == Status::invalid_argument);
}

static void numbers_are_looked_up()
{
    int asked = 0;
    OpenOptions options;
    options.limits = "refuse=disposable";
    options.lookup = [&asked](std::string_view number) -> std::optional<PhoneLine> {
        ++asked;
        if (number == "+12025550120")
            throw std::runtime_error("the provider is down");
        if (number == "+12025550121")
            return std::nullopt;
        if (number == "+12025550122")
            return PhoneLine{std::string("Acme"), LineType::mobile, true};
        PhoneLine line;
        line.kind = LineType::disposable;
        return line;
    };
    const Service service = open("sandbox:?accept=right", nullptr, options);
    for (const char *number : {"202-555-0120", "202-555-0121"}) {
        const PhoneInformation unknown = service.phone_info(number, "1");
        CHECK(unknown.type() == "unknown" && unknown.provider() == "Unknown");
    }
    const PhoneInformation known = service.phone_info("202-555-0122", "1");
    CHECK(known.type() == "cellphone" && known.provider() == "Acme" && known.ported() == true);
    CHECK(service.try_create_user("ada@example.com", "202-555-0123", "1").status() ==
          Status::rejected);
    CHECK(asked == 4);
}

static void an_application_keeps_its_settings(const std::string &folder)
{
    std::string text = "none", language, code;
    const std::string url = "sqlite:" + folder + "/application.db";
    OpenOptions options;
    options.names.word = "acme";
    options.install_link = "https://app.example/get";
    options.limits = "number_day=9";
    options.texts = R"({"fr": {"sms": "Voici : {{code}}"}})";
    options.otp_domain = "example.com";
    options.plan = "annual";
    options.logo = "https://app.example/logo.png";
    options.white_label = true;
    options.sms_enabled = true;
    options.force_codes = true;
    options.keyring = folder + "/application.ring";
    options.replies = Generation::older;
    static_cast<void>(open(url, nullptr, options));
    options = {};
    CHECK(try_open(url, nullptr, options).status() == Status::storage);
    options.keyring = folder + "/application.ring";
    options.deliver = [&text, &language, &code](const Message &message) {
        text = message.text();
        language = message.language();
        code = message.code();
        return !code.empty() || message.expires_at() == 0;
    };
    const Service service = open(url, nullptr, options);
    const UserCreated created = service.create_user("ada@example.com", "555-010-0123", "1");
    CHECK(text == "Install the app for Seconder: https://app.example/get");
    CHECK(created.message() == "User created successfully.");
    CHECK(created.install_message() == "sent");
    CHECK(language == "en-US");
    RequestCodeOptions in_french;
    in_french.locale = "fr";
    in_french.force = false;
    service.request_sms(created.user_id(), in_french);
    CHECK(text == "Voici : " + code + "\n@example.com #" + code && language == "fr");
    options.names.word = "svc";
    CHECK(try_open(url, nullptr, options).status() == Status::invalid_argument);
    options = {};
    options.callback_method = CallbackMethod::get;
    options.callback_private = true;
    static_cast<void>(open("sqlite:" + folder + "/by-get.db", nullptr, options));
    options = {};
    options.callback_ca_file = "/no/such/file";
    CHECK(try_open(url, nullptr, options).status() == Status::invalid_argument);
}

static void approvals_are_answered_and_called_back(const std::string &folder)
{
    Callback received;
    OpenOptions options;
    options.callback_url = "https://app.example/callback";
    options.post = [&received](const SignedCallback &callback) {
        received.url = callback.url();
        received.method = callback.method();
        received.query = callback.query();
        received.body = callback.body();
        for (const auto &[name, value] : callback.headers()) {
            if (name == "X-Svc-Signature")
                received.signature = value;
            if (name == "X-Svc-Signature-Nonce")
                received.nonce = value;
        }
        return callback.headers().size() == 3 ? Outcome::sent() : Outcome::permanent("no headers");
    };
    const Service service = open("sqlite:" + folder + "/approvals.db", nullptr, options);
    const std::uint64_t id = service.create_user("ada@example.com", "555-010-0123", "1").user_id();
    const Device device = service.register_device(id, "android");

    CreateApprovalOptions request;
    request.details = "{\"amount\":\"12\"}";
    request.logos.push_back({"default", "https://app.example/logo.png"});
    const ApprovalCreated created = service.create_approval(id, "Log in?", request);
    CHECK(created.message() == "Approval request created." && created.number().empty());
    const Approval asked = service.check_approval(created.uuid());
    CHECK(asked.status() == ApprovalStatus::pending && asked.message() == "Log in?");
    CHECK(asked.details() == request.details.value_or("{}") && asked.hidden_details() == "{}");
    CHECK(asked.logos().size() == request.logos.size() && asked.app_serial_id() == 1);
    CHECK(asked.logos()[0]->res == request.logos[0].res);
    CHECK(asked.logos()[0]->url == request.logos[0].url);
    CHECK(asked.app_id() == "1");
    CHECK(!asked.app_name().empty() && asked.user_email() == "ada@example.com");
    const auto ended = service.try_wait_for_approval(created.uuid(), id, std::chrono::seconds(60),
                                                     {[]() -> bool { throw 1; }});
    CHECK(ended.status() == Status::stopped);
    const Approval pending =
        service.wait_for_approval(created.uuid(), id, std::chrono::milliseconds(-1));
    CHECK(!pending.approved_by(id) && pending.processed_at().data() == nullptr);
    CHECK(pending.seconds_to_expire() == 86400 && !pending.created_at().empty());

    const ApprovalRequests open = service.open_approvals(device.id(), device.secret());
    CHECK(open.requests().size() == 1 && open.requests()[0]->uuid == created.uuid());
    const Approval answered =
        service.respond_to_approval(created.uuid(), device.id(), device.secret(), "approve");
    CHECK(answered.approved_by(id) && !answered.approved_by(id + 1) && !answered.approved_by(0));
    CHECK(answered.approved_unbound(id) && !answered.approved_unbound(id + 1));
    WaitForApprovalOptions unbound;
    unbound.unbound = true;
    const auto foreign =
        service.try_wait_for_approval(created.uuid(), id + 1, std::chrono::seconds(1), unbound);
    CHECK(foreign.status() == Status::invalid_argument);
    CHECK(answered.user_id() == id && answered.uuid() == created.uuid());
    CHECK(!answered.updated_at().empty() && !answered.processed_at().empty());
    static_cast<void>(answered.notified());

    const std::string key(service.api_key());
    const Event event = verify_callback(key, received);
    CHECK(event.approved_by(id) && !event.approved_by(id + 1));
    CHECK(event.status() == ApprovalStatus::approved && event.user_id() == id);
    CHECK(event.uuid() == created.uuid() && !event.parameters().empty());
    static_cast<void>(event.device());
    CHECK(verify_callback_parameters(key, received).get() != nullptr);

    int calls = 0;
    VerifierOptions rules;
    rules.urls = {received.url};
    rules.replay = [&calls](const ReplayEntry &entry) -> std::optional<bool> {
        CHECK(entry.key.size() == 44 && entry.now == 1000 && entry.until == 0);
        if (calls == 2)
            throw std::runtime_error("the table is gone");
        return calls++ == 0;
    };
    const Verifier verifier = Verifier::make(key, rules);
    CHECK(verifier.verify(received, 1000).approved_by(id));
    CHECK(THROWN(verifier.verify(received, 1000)) == Status::invalid_callback);
    CHECK(THROWN(verifier.verify(received, 1000)) == Status::storage);
    CHECK(verifier.parameters(received).str().find("approved") != std::string_view::npos);

    const OwnedText signature = sign_callback(key, received.nonce, received.url, received.body);
    CHECK(signature.value() == received.signature);
    received.nonce += "1";
    CHECK(THROWN(verify_callback(key, received)) == Status::invalid_callback);

    CreateApprovalOptions with_number;
    with_number.number_digits = 3;
    const ApprovalCreated numbered = service.create_approval(id, "Log in?", with_number);
    CHECK(numbered.number().size() == 3);
    const auto untyped = service.try_respond_to_approval(numbered.uuid(), device.id(),
                                                         device.secret(), "approve");
    CHECK(untyped.status() == Status::invalid_argument);
    CHECK(service.respond_to_approval(numbered.uuid(), device.id(), device.secret(), "approve",
                                      numbered.number()).approved_by(id));
    const auto invited = service.try_invite_device(id, InviteDeviceOptions{200});
    CHECK(invited.status() == Status::rejected);
    CHECK(invited.error()->service_code() == "no_public_url");
}

static void codes_are_made_and_checked()
{
    const Totp totp = Totp::make("12345678901234567890", TotpOptions{Algorithm::sha1, 8, 30});
    const OwnedText code = totp.code(59);
    CHECK(code.value() == "94287082");
    std::uint64_t last_step = 0;
    totp.check(code.value(), 59, last_step);
    CHECK(last_step == 1);
    CHECK(THROWN(totp.check(code.value(), 59, last_step)) == Status::token_reused);
    CHECK(totp.try_check("00000000", 59, last_step).status() == Status::token_wrong);

    const OwnedText uri = totp.uri("Example", "ada@example.com");
    const Totp same = Totp::from_uri(uri.value());
    CHECK(same.secret() == "12345678901234567890" && same.digits() == 8);
    CHECK(same.period() == 30 && same.algorithm() == Algorithm::sha1);
    CHECK(THROWN(Totp::from_uri("otpauth://hotp/")) == Status::invalid_argument);
}

static void forms_are_checked_and_queries_signed()
{
    CHECK(is_well_formed_token("123456") && !is_well_formed_token("12345"));
    CHECK(is_well_formed_user_id("1") && !is_well_formed_user_id("0"));
    CHECK(is_well_formed_uuid("a-b") && !is_well_formed_uuid("a/b"));
    CHECK(is_well_formed_phone_number("555-010-0123") && !is_well_formed_phone_number("call me"));

    const OwnedText query = callback_query("{\"uuid\":\"a\",\"svc_id\":1,\"status\":\"denied\"}");
    Callback received;
    received.url = "https://app.example/callback";
    received.method = "GET";
    received.query = query.value();
    received.nonce = "1000";
    const OwnedText signature =
        sign_callback_query("key", received.nonce, received.url, query.value());
    received.signature = signature.value();
    const OwnedText parameters = verify_callback_parameters("key", received);
    CHECK(parameters.value().find("denied") != std::string_view::npos);
}

static void a_user_logs_in_by_functions_that_may_throw()
{
    std::string code, shown;
    OpenOptions open_options;
    open_options.deliver = [&code](const Message &message) {
        code = message.code();
        return true;
    };
    const Service service = seconder::open("sandbox:?accept=right", nullptr, open_options);
    service.set_login(service.create_user("ada@example.com", "555-010-0123", "1").user_id(), "ada");
    int repeated = 0;
    const Converse converse = [&](const Prompt &prompt) {
        switch (prompt.kind()) {
        case PromptKind::echo_off:
            CHECK(prompt.wait().count() == 0);
            if (!prompt.repeated())
                return Conversed::not_yet;
            ++repeated;
            return prompt.answer(code.empty() ? std::string("sms") : code);
        case PromptKind::info:
        case PromptKind::error:
            shown += prompt.text();
            return Conversed::done;
        default:
            return Conversed::no_answer;
        }
    };
    std::string journal;
    LoginOptions options;
    options.settings = {"users=directory", "tries=1"};
    options.program = "ftpd";
    options.remote = "192.0.2.7";
    options.journal = [&journal](const JournalLine &line) {
        CHECK(line.kind == JournalKind::notice);
        journal += line.text;
        throw std::runtime_error("the disk is full");
    };
    service.login("ada", converse, options);
    CHECK(journal == "login of ada by ftpd from 192.0.2.7: accepted (by a code)");
    CHECK(repeated == 2 && shown.find("A code goes by SMS to") == 0);
    // The same code does not let her in again.
    CHECK(THROWN(service.login("ada", converse, options)) == Status::login_denied);

    options.journal = {};
    const Converse throws = [](const Prompt &) -> Conversed { throw std::runtime_error("gone"); };
    const Result<void> gone = service.try_login("ada", throws, options);
    CHECK(!gone && gone.status() == Status::login_no_answer);
    CHECK(gone.error()->message().find("gone") == std::string_view::npos);
    CHECK(service.try_login("ada", {}, options).status() == Status::login_no_answer);
    CHECK(service.try_login("eve", throws, options).status() == Status::login_unenrolled);
    const Result<void> cut = service.try_login(std::string("a\0b", 3), throws, options);
    CHECK(cut.status() == Status::invalid_argument && cut.error()->parameter() == "login");

    // Without a service, the configuration has to name one.
    options.settings = {"users=directory", "url=https://127.0.0.1:1"};
    CHECK(THROWN(seconder::login("ada", converse, options)) == Status::login_misconfigured);
}

static void a_log_gets_a_line_for_each_call()
{
    const Service service = open("sandbox:?accept=0000000");
    std::vector<std::string> lines;
    service.set_log([&](const CallRecord &record) {
        CHECK(record.status == Status::rejected && record.duration.count() >= 0);
        lines.emplace_back(record.line);
        throw std::runtime_error("it must not reach C");
    });
    CHECK(service.try_user_status(12345).status() == Status::rejected);
    CHECK(service.with(std::chrono::seconds(1)).try_user_status(12345).status() ==
          Status::rejected);
    CHECK(lines.size() == 2);
    CHECK(lines[0].rfind("call=user_status outcome=rejected user_id=12345 ", 0) == 0);
    service.set_log({});
    CHECK(!service.try_user_status(12345) && lines.size() == 2);
    Service none = open("sandbox:");
    const Service moved = std::move(none);
    CHECK(none.try_set_log({}).status() == Status::invalid_argument);
}

static void a_cancelled_handle_makes_no_calls()
{
    const Service service = open("sandbox:");
    const Service own = service.with(std::chrono::milliseconds(0));
    own.cancel();
    const Result<void> ended = own.try_clear_sandbox();
    CHECK(ended.status() == Status::cancelled && ended.error()->retry_safe());
    CHECK(THROWN(own.app_details()) == Status::cancelled);
    CHECK(service.try_app_details() && own.with(std::chrono::milliseconds(0)).try_app_details());
}

static void a_test_controls_its_sandbox()
{
    const Service service = open("sandbox:?accept=right");
    const std::uint64_t ada = service.create_user("ada@example.com", "555-010-0123", "1").user_id();
    CHECK(!service.request_sms(ada).ignored());
    service.sandbox_advance(std::chrono::seconds(30));
    CHECK(!service.request_sms(ada).ignored());
    const SentMessages sent = service.sandbox_messages(ada);
    CHECK(sent.messages().size() == 2);
    const seconder_sent_message *latest = sent.messages()[0];
    CHECK(latest->user_id == ada && latest->to == std::string_view("+15550100123"));

    service.sandbox_fail("timeout", "verify", 1);
    const Result<Verification> lost = service.try_verify(ada, latest->code);
    CHECK(lost.status() == Status::unavailable && lost.error()->timed_out());
    service.sandbox_fail("storage");
    CHECK(!service.try_app_details());
    service.sandbox_end_faults();
    CHECK(service.try_verify(ada, latest->code, VerifyOptions{true, {}}));

    const ApprovalCreated request = service.create_approval(ada, "Log in?");
    service.sandbox_respond(ada, "approve");
    CHECK(service.check_approval(request.uuid()).approved_by(ada));
    CHECK(service.try_sandbox_respond(ada, "deny").status() == Status::rejected);
    const OwnedText all = service.sandbox_operate("messages");
    CHECK(all.value().find(latest->code) != std::string_view::npos);
    CHECK(THROWN(service.sandbox_operate("clock", "[]")) == Status::invalid_argument);
    CHECK(service.try_sandbox_advance(std::chrono::seconds(-1)).status() ==
          Status::invalid_argument);
    service.clear_sandbox();
    const SentMessages none = service.sandbox_messages();
    CHECK(none.messages().empty());
    const Service real = open("https://127.0.0.1:1", "key");
    CHECK(real.try_sandbox_messages().status() == Status::invalid_argument);
}

#if defined(__cpp_lib_jthread)
static void a_stop_token_ends_calls()
{
    const Service service = open("sandbox:");
    std::stop_source source, other;
    StoppableService own = service.with(source.get_token());
    CHECK(own->app_details().app_id() > 0 && (*own).try_clear_sandbox());
    StoppableService moved = std::move(own);
    CHECK(moved->try_clear_sandbox());
    const std::uint64_t id = service.create_user("ada@example.com", "555-010-0123", "1").user_id();
    const ApprovalCreated request = service.create_approval(id, "Log in?");
    std::jthread stops([&](std::stop_token) {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        source.request_stop();
    });
    const auto wait = moved->try_wait_for_approval(request.uuid(), id, std::chrono::minutes(1));
    CHECK(wait.status() == Status::cancelled);
    CHECK(THROWN(moved->clear_sandbox()) == Status::cancelled);
    // A stop that was requested before.
    CHECK(service.with(source.get_token())->try_clear_sandbox().status() == Status::cancelled);
    // The callback of the handle that is replaced is gone.
    moved = service.with(other.get_token());
    CHECK(moved->try_clear_sandbox());
    other.request_stop();
    CHECK(moved->try_clear_sandbox().status() == Status::cancelled);
    CHECK(service.try_app_details());
}
#endif

int main(int, char **argv)
{
    a_user_logs_in_by_functions_that_may_throw();
    a_log_gets_a_line_for_each_call();
    a_cancelled_handle_makes_no_calls();
    a_test_controls_its_sandbox();
#if defined(__cpp_lib_jthread)
    a_stop_token_ends_calls();
#endif
    owners_move();
    errors_give_reasons();
    texts_are_passed_whole_or_rejected();
    every_reply_is_read();
    functions_may_throw(argv[1]);
    messages_arrive(argv[1]);
    messages_are_sent_again(argv[1]);
    numbers_are_looked_up();
    an_application_keeps_its_settings(argv[1]);
    the_audit_is_read_page_by_page(argv[1]);
    approvals_are_answered_and_called_back(argv[1]);
    codes_are_made_and_checked();
    forms_are_checked_and_queries_signed();
    return 0;
}
