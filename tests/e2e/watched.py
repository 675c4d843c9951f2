"""`verdict up` with all that Spark can show: its pages, and its event log.

`python -m tests.e2e.watched UI_PORT EVENT_LOG_DIR`; the plans are shown as `explain` does at most.
"""

import sys
from functools import partial

import verdict.foundation.foundation
from verdict.cli.main import main
from verdict.spark.session import spark_session

if __name__ == "__main__":
    ui_port, event_logs = sys.argv[1:]
    shown = {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": f"file://{event_logs}",
        "spark.eventLog.compress": "false",
        "spark.sql.ui.explainMode": "extended",
    }
    verdict.foundation.foundation.spark_session = partial(  # type: ignore[attr-defined]
        spark_session, ui_port=int(ui_port), extra=shown
    )
    sys.argv = ["verdict", "up"]
    main()
