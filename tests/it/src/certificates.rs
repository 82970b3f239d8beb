//! Certificates for a test, made by the openssl program: an authority, a server's that it signed, a client's.

use std::path::{Path, PathBuf};

use crate::clients::program;
use crate::server::TemporaryDirectory;

const ADVICE: &str = "install openssl (apt-get install openssl)";

/// An authority and what it has signed, in a directory of its own.
pub struct Authority {
    directory: TemporaryDirectory,
}

impl Authority {
    pub fn new(name: &str) -> Authority {
        let authority = Authority {
            directory: TemporaryDirectory::new(name),
        };
        authority.openssl(&format!(
            "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj /CN={name} \
             -keyout root.key -out root.crt"
        ));
        authority
    }

    pub fn path(&self, file: &str) -> PathBuf {
        self.directory.path().join(file)
    }

    /// The same, as an option of a command.
    pub fn file(&self, file: &str) -> String {
        self.path(file).display().to_string()
    }

    /// `NAME.crt` and `NAME.key`: for the loopback addresses and the name localhost, and for the common name.
    pub fn sign(&self, name: &str, common_name: &str, key: &str) {
        std::fs::write(
            self.path("extensions"),
            "subjectAltName=DNS:localhost,IP:127.0.0.1\n",
        )
        .expect("a temporary file can be written");
        self.openssl(&format!(
            "req -newkey {key} -nodes -subj /O=shop/CN={common_name} -keyout {name}.key -out {name}.csr"
        ));
        self.openssl(&format!(
            "x509 -req -in {name}.csr -CA root.crt -CAkey root.key -CAcreateserial -days 30 -sha384 \
             -extfile extensions -out {name}.crt"
        ));
    }

    fn openssl(&self, arguments: &str) {
        let arguments: Vec<&str> = arguments.split_whitespace().collect();
        program("openssl", &arguments, self.directory.path(), ADVICE).good();
    }
}

/// Keys of elliptic curves, as `openssl req -newkey` wants to hear it.
pub const ELLIPTIC: &str = "ec -pkeyopt ec_paramgen_curve:P-256";
pub const RSA: &str = "rsa:2048";

/// Replaces a file as a tool that renews certificates does.
pub fn replace(from: &Path, to: &Path) {
    let aside = to.with_extension("new");
    std::fs::copy(from, &aside).expect("copied");
    std::fs::rename(aside, to).expect("renamed");
}
