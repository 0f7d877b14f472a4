//! The PAM module `pam_seconder`: see pam_seconder(8).
