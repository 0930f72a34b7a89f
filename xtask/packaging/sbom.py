"""Checks a list of components in the format of CycloneDX: `sbom.py FILE`."""

import sys
from pathlib import Path

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(Path(sys.argv[1]).read_text())
if error is not None:
    sys.exit(f"error: {error}"[:2000])
print("the list is valid")
