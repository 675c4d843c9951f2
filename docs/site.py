"""Puts the pages at the root of the checkout into the site: MkDocs calls `on_files`."""

import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
AT_THE_ROOT = {
    "README.md": "index.md",
    **{name: name for name in ("GUARANTEES.md", "DECISIONS.md", "BENCHMARKS.md", "CHANGELOG.md")},
    "LICENSE": "LICENSE.md",
    "examples/README.md": "examples.md",
}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the documents next to the folder `docs`, with links as if they were in it."""
    for source, page in AT_THE_ROOT.items():
        text = (ROOT / source).read_text()
        if source == "LICENSE":
            text = f"```text\n{text}```\n"
        files.append(File.generated(config, page, content=linked(text)))
    for file in files.documentation_pages():
        if not file.generated_by:
            file.content_string = linked(file.content_string)
    return files


def linked(text: str) -> str:
    """Return a page with links to the pages of the site."""
    text = re.sub(r"\]\((?:\.\./)?examples/README\.md", "](examples.md", text)
    text = re.sub(r"\]\((?:\.\./)?docs/", "](", text)
    text = re.sub(r"\]\(LICENSE\)", "](LICENSE.md)", text)
    text = re.sub(
        r"\]\((?:\.\./)+README\.md", lambda found: found[0].replace("README", "index"), text
    )
    return re.sub(r"\]\((\.\./)((?:\.\./)*)(index|[A-Z]+)\.md", r"](\2\3.md", text)
