"""What a running service announces about itself, for `verdict status` and the page."""

import logging
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from verdict.adapters.sql.time_text import wall_clock
from verdict.settings.discovery import AnnouncedService, OverdueBatch, announce
from verdict.streaming.queries.batches_under_way import (
    BatchUnderWay,
    longer_than,
    where_to_look,
)
from verdict.write_side.processor.latency import Latencies

LOG = logging.getLogger("verdict.heartbeat")
BEAT_S = 5.0


class Heartbeat:
    """Keeps the announcement of a service up to date; its age is the sign of life."""

    def __init__(
        self,
        data_dir: Path,
        service: AnnouncedService,
        slow_batch_s: float,
        latencies: Latencies | None = None,
    ) -> None:
        self.service = service
        self._data_dir = data_dir
        self._limit_s = slow_batch_s
        self._latencies = latencies or Latencies()
        self._overdue: Mapping[str, BatchUnderWay] = {}
        self._beat_at = 0.0
        self._has_failed = False
        announce(data_dir, service)

    def beat(self, kafka_away_since: float | None, stopped: Mapping[str, str]) -> None:
        """Announce the present state; call this again and again.

        An announcement that cannot be written (the disk is full) is logged once and tried again at
        the next beat: commands are decided without it.
        """
        now = replace(
            self.service,
            kafka_away_since=kafka_away_since,
            stopped=stopped,
            overdue=self._find_overdue(),
        )
        if now != self.service or time.monotonic() >= self._beat_at:
            at = wall_clock()  # every command changes these: they alone are no reason to announce
            of_last_minute = self._latencies.of_last_minute(at)
            minutes = self._latencies.minutes(at)
            self.service = replace(now, latency=of_last_minute, latencies=minutes)
            self._beat_at = time.monotonic() + BEAT_S
            self._announce()

    def _announce(self) -> None:
        """Write the file; somebody may have removed it."""
        try:
            announce(self._data_dir, self.service)
        except OSError as error:
            if not self._has_failed:
                LOG.error(
                    "the announcement of the service in %s cannot be written: %s; the service runs "
                    "on and tries again every %g s",
                    self._data_dir, error, BEAT_S,
                )  # fmt: skip
            self._has_failed = True
        else:
            self._has_failed = False

    def _find_overdue(self) -> dict[str, OverdueBatch]:
        found = longer_than(self._limit_s)
        for query, batch in found.items():
            if self._overdue.get(query) != batch:
                LOG.error(
                    "batch %s of %s has been under way for %.0f s and has not ended: %s under %s",
                    batch.batch_id, query, batch.seconds, where_to_look(query), self._data_dir,
                )  # fmt: skip
        for query, batch in self._overdue.items():
            if found.get(query) != batch:
                LOG.warning(
                    "batch %s of %s has ended after %.0f s", batch.batch_id, query, batch.seconds
                )
        self._overdue = found
        return {query: OverdueBatch(batch.batch_id, batch.since) for query, batch in found.items()}
