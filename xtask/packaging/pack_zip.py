"""Packs a folder as a zip file whose bytes depend only on the contents: pack_zip.py FILE FOLDER SECONDS [RECORD]

All times are the given time. With RECORD, the path of a file in the folder, first writes the digests of all files of a
wheel into this file.
"""

import base64
import hashlib
import sys
import time
import zipfile
from pathlib import Path

# The first time that a zip file can express.
EARLIEST = (1980, 1, 1, 0, 0, 0)


def files(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file())


def record_line(folder, path):
    content = path.read_bytes()
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"{path.relative_to(folder).as_posix()},sha256={digest},{len(content)}\n"


def write_record(folder, record):
    lines = [record_line(folder, path) for path in files(folder)]
    lines.append(f"{record},,\n")
    (folder / record).write_text("".join(lines), encoding="utf-8")


def entry(folder, path, seconds):
    date = max(time.gmtime(seconds)[:6], EARLIEST)
    info = zipfile.ZipInfo(path.relative_to(folder).as_posix(), date)
    info.compress_type = zipfile.ZIP_DEFLATED
    # The system of the modes is Unix, also where Python runs on another one.
    info.create_system = 3
    mode = 0o755 if path.stat().st_mode & 0o100 else 0o644
    info.external_attr = (0o100000 | mode) << 16
    return info


def main():
    file, folder, seconds = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    if len(sys.argv) > 4:
        write_record(folder, sys.argv[4])
    with zipfile.ZipFile(file, "w") as archive:
        for path in files(folder):
            archive.writestr(entry(folder, path, seconds), path.read_bytes())


main()
