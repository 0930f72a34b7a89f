//! Certificates in the form in which Fulcio issues them, with a timestamp of a certificate log.

use rcgen::{
    CertificateParams, CustomExtension, DistinguishedName, ExtendedKeyUsagePurpose, Issuer,
    KeyPair, KeyUsagePurpose, SanType, SerialNumber,
};

use super::Signer;
use super::log::Log;
use super::recipe::Recipe;
use crate::cryptography::sha256;

/// The issuer as plain text, as older verifiers read it.
const OLD_ISSUER: [u64; 9] = [1, 3, 6, 1, 4, 1, 57264, 1, 1];
/// The issuer as a string in DER.
const ISSUER: [u64; 9] = [1, 3, 6, 1, 4, 1, 57264, 1, 8];
const TIMESTAMPS: [u64; 10] = [1, 3, 6, 1, 4, 1, 11129, 2, 4, 2];

/// Issues a certificate for the key of a signer. Returns the certificate in DER.
pub(super) fn issue(
    authority: &Issuer<'_, KeyPair>,
    issuer_key: &[u8],
    log: &Log,
    signer: &Signer,
    recipe: &Recipe,
) -> Vec<u8> {
    let mut params = params(recipe);
    let unlogged = params.signed_by(&signer.0, authority).unwrap();
    let time = u64::try_from(recipe.valid.0 * 1000).unwrap();
    let list = timestamps(log, &sha256(issuer_key), to_be_signed(unlogged.der()), time);
    params
        .custom_extensions
        .push(CustomExtension::from_oid_content(
            &TIMESTAMPS,
            octet_string(&list),
        ));
    params
        .signed_by(&signer.0, authority)
        .unwrap()
        .der()
        .to_vec()
}

fn params(recipe: &Recipe) -> CertificateParams {
    let mut params = CertificateParams::default();
    let identity = recipe.identity.as_str().try_into().unwrap();
    params.subject_alt_names = vec![if recipe.identity.contains("://") {
        SanType::URI(identity)
    } else {
        SanType::Rfc822Name(identity)
    }];
    params.distinguished_name = DistinguishedName::new();
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::CodeSigning];
    params.use_authority_key_identifier_extension = true;
    params.serial_number = Some(SerialNumber::from(4711_u64));
    let time = |seconds| {
        std::time::UNIX_EPOCH + std::time::Duration::from_secs(u64::try_from(seconds).unwrap())
    };
    (params.not_before, params.not_after) =
        (time(recipe.valid.0).into(), time(recipe.valid.1).into());
    let issuer = [
        &[0x0c, u8::try_from(recipe.issuer.len()).unwrap()],
        recipe.issuer.as_bytes(),
    ]
    .concat();
    let old_issuer = recipe.issuer.clone().into_bytes();
    params.custom_extensions = vec![
        CustomExtension::from_oid_content(&OLD_ISSUER, old_issuer),
        CustomExtension::from_oid_content(&ISSUER, issuer),
    ];
    params
}

/// Returns the list with one timestamp of the log (RFC 6962).
fn timestamps(log: &Log, issuer_key_hash: &[u8; 32], certificate: &[u8], time: u64) -> Vec<u8> {
    let time = time.to_be_bytes();
    let length = u32::try_from(certificate.len()).unwrap().to_be_bytes();
    let signed = [
        &[0, 0],
        &time[..],
        &[0, 1],
        issuer_key_hash,
        &length[1..],
        certificate,
        &[0, 0],
    ]
    .concat();
    let signature = log.key.sign(&signed);
    // SHA-256 with ECDSA.
    let timestamp = [
        &[0],
        &log.id()[..],
        &time,
        &[0, 0],
        &[4, 3],
        &with_length(&signature),
    ]
    .concat();
    with_length(&with_length(&timestamp))
}

fn with_length(content: &[u8]) -> Vec<u8> {
    [
        &u16::try_from(content.len()).unwrap().to_be_bytes()[..],
        content,
    ]
    .concat()
}

/// Returns the signed part of a certificate: its first element.
fn to_be_signed(certificate: &[u8]) -> &[u8] {
    // Both lengths have two bytes: a certificate has between 256 and 65535.
    assert_eq!(
        (&certificate[..2], &certificate[4..6]),
        (&[0x30, 0x82][..], &[0x30, 0x82][..])
    );
    let length = usize::from(u16::from_be_bytes([certificate[6], certificate[7]]));
    &certificate[4..8 + length]
}

fn octet_string(content: &[u8]) -> Vec<u8> {
    let length = u8::try_from(content.len()).unwrap();
    let header: &[u8] = if length < 128 {
        &[4, length]
    } else {
        &[4, 0x81, length]
    };
    [header, content].concat()
}
