# Verifies bundles with the package `sigstore`, offline. Prints a list of names and results.
import base64
import json
import sys
import tempfile

from sigstore.models import Bundle, TrustedRoot
from sigstore.verify import Verifier, policy

with open(sys.argv[1]) as file:
    given = json.load(file)
with tempfile.NamedTemporaryFile("w", suffix=".json") as root:
    json.dump(given["root"], root)
    root.flush()
    verifier = Verifier(trusted_root=TrustedRoot.from_file(root.name))
subject = base64.b64decode(given["subject"])
identity = policy.Identity(identity=given["identity"], issuer=given["issuer"])


def judge(case):
    bundle = Bundle.from_json(json.dumps(case["bundle"]))
    if "dsseEnvelope" in case["bundle"]:
        _, payload = verifier.verify_dsse(bundle, identity)
        import hashlib

        digests = [each["digest"]["sha256"] for each in json.loads(payload)["subject"]]
        assert hashlib.sha256(subject).hexdigest() in digests
    else:
        verifier.verify_artifact(subject, bundle, identity)


results = []
for case in given["cases"]:
    try:
        judge(case)
        results.append((case["name"], "ok"))
    except Exception as error:
        results.append((case["name"], f"{type(error).__name__}: {error}"[:300]))
print(json.dumps(results))
