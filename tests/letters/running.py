"""The retry of dead letters as a service runs it, for tests that look after it themselves."""

from typing import Any

from sqlalchemy import Engine

from verdict.adapters.kafka.connection import KafkaConfig
from verdict.reactions.dead_letters.retry import build_retry
from verdict.service.supervisor import Supervisor
from verdict.service.threads import StepThread, Work
from verdict.wire.topics import Topics


class RunningRetry:
    """Both components, from `start` to `stop`; `check` polls them.

    Args:
        retry_s: Seconds until a component is started again.
        options: As for `build_retry`.
    """

    def __init__(
        self,
        engine: Engine,
        kafka: KafkaConfig,
        topics: Topics,
        *,
        retry_s: float = 0.0,
        **options: Any,
    ) -> None:
        self._engine = engine
        self._intake, dispatch = build_retry(engine, kafka, topics, **options)
        works: dict[str, Work] = {
            "intake of letters": self._intake,
            "dispatch of letters": dispatch,
        }
        self._supervisors = [
            Supervisor(name=name, component=StepThread(name, work), retry_s=retry_s)
            for name, work in works.items()
        ]
        self._supervisors[0].is_ready = self._intake.caught_up.is_set

    def start(self) -> None:
        for supervisor in self._supervisors:
            supervisor.start()

    def await_ready(self) -> None:
        for supervisor in self._supervisors:
            supervisor.await_ready(self.check)

    def check(self) -> None:
        for supervisor in self._supervisors:
            supervisor.check()

    @property
    def failures(self) -> dict[str, str]:
        return {one.name: one.failure for one in self._supervisors if one.failure is not None}

    def stop(self) -> None:
        for supervisor in self._supervisors:
            supervisor.stop()
        self._engine.dispose()
