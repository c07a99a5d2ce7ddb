"""Put a built site beside those of other versions: ``python -m tools.site build/site pages``.

The folder of all sites gets one folder a version, the list that the switcher of every page reads
(``switcher.json``), and a first page that leads to the newest version. The address is that of
tools/project.toml; a site is built for it with ``SKSTRETCH_SITE`` set to it (docs/conf.py).
"""

import argparse
import html
import json
import re
import shutil
import tomllib
from pathlib import Path
from typing import Any

from tools.release import ROOT, package_version, read

VERSION = re.compile(r"\d+\.\d+\.\d+")


def address() -> str:
    """Where the sites of all versions will be."""
    return str(tomllib.loads(read("tools/project.toml"))["documentation"]).rstrip("/")


def order(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def versions(folder: Path) -> list[str]:
    """Versions that have a site, the newest first."""
    found = [path.name for path in folder.iterdir() if VERSION.fullmatch(path.name)]
    return sorted(found, key=order, reverse=True)


def entries(known: list[str], base: str) -> list[dict[str, Any]]:
    """What the switcher of the theme reads; the first version is the one to prefer."""
    return [
        {
            "version": version,
            "name": f"{version} (newest)" if number == 0 else version,
            "url": f"{base}/{version}/",
            "preferred": number == 0,
        }
        for number, version in enumerate(known)
    ]


def place(site: Path, folder: Path, version: str, base: str) -> None:
    """Copy a site to its folder, and rewrite what is common to all."""
    if not VERSION.fullmatch(version):
        raise SystemExit(f"{version!r} is no version of a release such as 0.3.0.")
    if not (site / "index.html").exists():
        raise SystemExit(f"{site} holds no site: call make docs first.")
    shutil.rmtree(folder / version, ignore_errors=True)
    shutil.copytree(site, folder / version)
    known = versions(folder)
    listed = json.dumps(entries(known, base), indent=1) + "\n"
    (folder / "switcher.json").write_text(listed, "utf-8")
    target = html.escape(f"{known[0]}/index.html")
    page = (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>skstretch</title>'
        f'<meta http-equiv="refresh" content="0; url={target}"></head>'
        f'<body><a href="{target}">skstretch {html.escape(known[0])}</a></body></html>\n'
    )
    (folder / "index.html").write_text(page, "utf-8")
    (folder / ".nojekyll").touch()  # folders that begin with an underscore are served too


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("site", type=Path, help="the built site")
    parser.add_argument("folder", type=Path, help="the folder of all sites")
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    place(ROOT / asked.site, asked.folder, package_version(), address())
    print(f"sites in {asked.folder}: {', '.join(versions(asked.folder))}")


if __name__ == "__main__":
    main()
