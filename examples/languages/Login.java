// A login with a second factor, by the C library: java -cp /usr/share/java/jna.jar Login.java
import com.sun.jna.Library;
import com.sun.jna.Native;
import com.sun.jna.NativeLong;
import com.sun.jna.Pointer;
import com.sun.jna.Structure;
import com.sun.jna.ptr.PointerByReference;
import java.util.Map;

public class Login {
    /** The functions of seconder.h that this program calls. A size_t has the size of a NativeLong. */
    public interface Seconder extends Library {
        int OK = 0;

        int seconder_open_text(String url, String apiKey, String options,
            PointerByReference out, PointerByReference error);
        int seconder_create_user(Pointer service, String email, String cellphone, String countryCode,
            Pointer options, NativeLong size, PointerByReference out, PointerByReference error);
        long seconder_user_created_user_id(Pointer user);
        int seconder_verify(Pointer service, long userId, String token,
            VerifyOptions options, NativeLong size, PointerByReference out, PointerByReference error);
        String seconder_error_message(Pointer error);
        void seconder_error_free(Pointer error);
        void seconder_user_created_free(Pointer user);
        void seconder_verification_free(Pointer verification);
        void seconder_service_free(Pointer service);
    }

    /** The bool of C is a byte: JNA's boolean would be an int. */
    @Structure.FieldOrder({"force", "action", "userIp"})
    public static class VerifyOptions extends Structure {
        public byte force;
        public String action, userIp;
    }

    private static final Seconder C =
        Native.load("libseconder.so.0", Seconder.class, Map.of(Library.OPTION_STRING_ENCODING, "UTF-8"));

    private interface Call {
        int status(PointerByReference out, PointerByReference error);
    }

    /** Returns the handle of a call, and throws an exception for every status but OK. */
    private static Pointer handle(Call call) {
        PointerByReference out = new PointerByReference(), error = new PointerByReference();
        if (call.status(out, error) == Seconder.OK) {
            return out.getValue();
        }
        String message = C.seconder_error_message(error.getValue());
        C.seconder_error_free(error.getValue());
        throw new IllegalStateException(message);
    }

    public static void main(String[] arguments) {
        Pointer service = handle((out, error) ->
            C.seconder_open_text("sandbox:?accept=0000000", null, "application_name=Example", out, error));
        try {
            Pointer user = handle((out, error) -> C.seconder_create_user(
                service, "ada@example.com", "555-010-0123", "1", null, new NativeLong(0), out, error));
            long userId = C.seconder_user_created_user_id(user);
            C.seconder_user_created_free(user);
            VerifyOptions options = new VerifyOptions();
            options.force = 1; // The code of a new user is checked too.
            NativeLong size = new NativeLong(options.size());
            for (String code : new String[] {"0000000", "1111111"}) {
                try {
                    C.seconder_verification_free(handle((out, error) ->
                        C.seconder_verify(service, userId, code, options, size, out, error)));
                    System.out.println(code + ": Welcome, Ada.");
                } catch (IllegalStateException error) {
                    System.out.println(code + ": Access denied: " + error.getMessage());
                }
            }
        } finally {
            C.seconder_service_free(service);
        }
    }
}
