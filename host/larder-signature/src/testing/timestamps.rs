//! A timestamp authority. `openssl ts` makes its timestamps.

use std::fs;
use std::path::Path;
use std::process::Command;

use rcgen::{CertificateParams, CustomExtension, KeyUsagePurpose};
use serde_json::{Value, json};

use super::{Authority, Signer, base64};

const EXTENDED_KEY_USAGE: [u64; 4] = [2, 5, 29, 37];
/// The usage 1.3.6.1.5.5.7.3.8, timestamping.
const TIMESTAMPING: [u8; 12] = [
    0x30, 0x0a, 0x06, 0x08, 0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x08,
];
const CONFIG: &str = "[tsa]\nserial = serial\ndigests = sha256\nsigner_digest = sha256\ndefault_policy = 1.2.3.4\n\
                      ess_cert_id_alg = sha256\nordering = yes\n";

/// A timestamp authority, whose certificate an [`Authority`] issued.
pub struct TimestampAuthority {
    signer: Signer,
    chain: [Vec<u8>; 2],
}

impl TimestampAuthority {
    pub fn new(authority: &Authority) -> Self {
        let signer = Signer::ecdsa();
        let mut params = CertificateParams::default();
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        let mut usage =
            CustomExtension::from_oid_content(&EXTENDED_KEY_USAGE, TIMESTAMPING.to_vec());
        usage.set_criticality(true);
        params.custom_extensions = vec![usage];
        params.use_authority_key_identifier_extension = true;
        let certificate = params
            .signed_by(&signer.0, authority.issuer())
            .unwrap()
            .der()
            .to_vec();
        Self {
            signer,
            chain: [certificate, authority.certificate().to_vec()],
        }
    }

    /// Adds the authority to a trust root.
    pub fn add_to(&self, root: &str) -> String {
        let mut root: Value = serde_json::from_str(root).unwrap();
        let chain: Vec<_> = self
            .chain
            .iter()
            .map(|der| json!({ "rawBytes": base64(der) }))
            .collect();
        root["timestampAuthorities"] = json!([{
            "subject": { "organization": "Example", "commonName": "Example timestamps" },
            "uri": "https://timestamps.example.com",
            "certChain": { "certificates": chain },
            "validFor": { "start": "2021-01-01T00:00:00Z" },
        }]);
        root.to_string()
    }

    /// Adds a timestamp with the current time to a bundle. Returns nothing if `openssl` is not installed.
    pub fn stamp(&self, bundle: &mut Value) -> Option<()> {
        let signature = match bundle.get("messageSignature") {
            Some(message) => &message["signature"],
            None => &bundle["dsseEnvelope"]["signatures"][0]["sig"],
        };
        let signature = base64_simd::STANDARD
            .decode_to_vec(signature.as_str().unwrap())
            .unwrap();
        let token = base64(self.timestamp(&signature)?);
        bundle["verificationMaterial"]["timestampVerificationData"] =
            json!({ "rfc3161Timestamps": [{ "signedTimestamp": token }] });
        Some(())
    }

    fn timestamp(&self, content: &[u8]) -> Option<Vec<u8>> {
        let folder = tempfile::tempdir().unwrap();
        let write =
            |name: &str, content: &[u8]| fs::write(folder.path().join(name), content).unwrap();
        write("content", content);
        write("config", CONFIG.as_bytes());
        write("serial", b"01");
        write("key", self.signer.private_key().as_bytes());
        write(
            "certificate",
            pem::encode(&pem::Pem::new("CERTIFICATE", self.chain[0].clone())).as_bytes(),
        );
        openssl(
            folder.path(),
            "ts -query -data content -sha256 -cert -out query",
        )?;
        let reply = "ts -reply -config config -section tsa -queryfile query -signer certificate -inkey key -out reply";
        openssl(folder.path(), reply)?;
        Some(fs::read(folder.path().join("reply")).unwrap())
    }
}

fn openssl(folder: &Path, args: &str) -> Option<()> {
    let output = Command::new("openssl")
        .args(args.split(' '))
        .current_dir(folder)
        .output()
        .ok()?;
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Some(())
}
