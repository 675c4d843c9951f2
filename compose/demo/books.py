"""Chapter: whether all of it holds together, by the audit."""

import json

from compose.demo.story import Story


def tell(story: Story) -> None:
    """Let `verdict verify` look at everything that the chapters before have left."""
    story.voice.begin(
        "Do the books balance?",
        "Versions without a gap, each event with the hash of the one before, one outcome for each "
        "command; and archive, state and projections agree with these events.",
    )
    story.voice.typed("verify")
    with story.voice.waiting("verdict verify"):
        said = story.service.verb("verify", "--json", check=False)
    for line in said.stderr.splitlines():  # which are the same without --json
        story.voice.tell(line)
    *findings, summary = map(json.loads, said.stdout.splitlines())
    clean = "the audit checked all of it and found nothing"
    story.voice.expect(clean, (True, []), (summary["clean"], findings))
