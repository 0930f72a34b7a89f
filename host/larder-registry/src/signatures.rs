//! The signatures among the attachments of an image, and the statements about it.

use bytes::Bytes;
use larder_model::name::Digest;
use larder_model::signature::{
    CertificateAnnotations, FoundSignature, MAX_SIGNATURE_SIZE, Reason, Signature, SimpleSigning,
};
use larder_signature::layer;
use oci_client::manifest::OciDescriptor;

use crate::{Attachment, Error, Store};

impl Store {
    /// Returns the signatures of the image with this manifest. They are not verified.
    pub fn signatures(&self, manifest: &Digest) -> Result<Vec<FoundSignature>, Error> {
        let mut found = Vec::new();
        for attachment in self.attachments(manifest)? {
            for (number, descriptor) in (1..).zip(&attachment.manifest.layers) {
                if layer::is_signature(&descriptor.media_type) {
                    found.push(self.found_signature(&attachment, number, descriptor));
                }
            }
        }
        Ok(found)
    }

    fn found_signature(
        &self,
        attachment: &Attachment,
        number: usize,
        descriptor: &OciDescriptor,
    ) -> FoundSignature {
        let signature = self.layer(descriptor).and_then(|content| {
            if layer::is_bundle(&descriptor.media_type) {
                return Ok(Signature::Bundle(content));
            }
            if layer::is_envelope(&descriptor.media_type) {
                let certificate = certificate(descriptor).map(Box::new);
                return Ok(Signature::Envelope {
                    content,
                    certificate,
                });
            }
            let simple = simple_signing(descriptor, content)
                .ok_or("the annotation with the signature is missing")?;
            Ok(Signature::SimpleSigning(Box::new(simple)))
        });
        let digest = attachment.digest.to_string();
        let origin = format!(
            "signature {} of {}",
            number,
            digest.get(..19).unwrap_or(&digest)
        );
        FoundSignature {
            origin,
            signature: signature.map_err(Reason::from),
        }
    }

    fn layer(&self, descriptor: &OciDescriptor) -> Result<Bytes, String> {
        let digest = Digest::parse(&descriptor.digest).map_err(|_| "its digest is invalid")?;
        self.read(&digest, MAX_SIGNATURE_SIZE)
            .map_err(|error| format!("it cannot be read: {error}"))
    }
}

fn simple_signing(descriptor: &OciDescriptor, payload: Bytes) -> Option<SimpleSigning> {
    let signature = annotation(descriptor, layer::SIGNATURE)?;
    let certificate = certificate(descriptor);
    Some(SimpleSigning {
        payload,
        signature,
        certificate,
    })
}

fn certificate(descriptor: &OciDescriptor) -> Option<CertificateAnnotations> {
    Some(CertificateAnnotations {
        // The certificate is empty if a key was used.
        certificate: annotation(descriptor, layer::CERTIFICATE).filter(|text| !text.is_empty())?,
        chain: annotation(descriptor, layer::CHAIN),
        log_entry: annotation(descriptor, layer::LOG_ENTRY),
        timestamp: annotation(descriptor, layer::TIMESTAMP),
    })
}

fn annotation(descriptor: &OciDescriptor, name: &str) -> Option<String> {
    descriptor.annotations.as_ref()?.get(name).cloned()
}
