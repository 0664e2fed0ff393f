"""An `up` of the ordinary way that leaves behind what it proved, so that the next one need not find it out again."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from homellm.cli import streams, wiring
from homellm.cli.run_verb import Call, Emit, Table
from homellm.cli.stack_file import locate
from homellm.domain.events import Event, ModelFinished, Note, StackOpened
from homellm.domain.reports import ModelReport, StackReport
from homellm.domain.verdicts import State
from homellm.errors import ExitCode
from homellm.report.encoding import fit
from homellm.report.plain import PlainSink
from homellm.report.stream import Output, coloured
from homellm.unchanged.files import FileFacts, of_files
from homellm.unchanged.keep import Begun, Proved, begin, keep

if TYPE_CHECKING:
    from homellm.cli.options import Common
    from homellm.domain.stack import Model
    from homellm.report.commands import Commands

Act = Callable[[Emit], StackReport]


@dataclass(slots=True)
class Witnessed:
    """What happened in one `up`, and what is to be kept of it; with `begun` None nothing is.

    `table` is what `up` ends with for people, `typed` how commands are written in it.
    """

    common: Common
    typed: Commands
    table: Table
    begun: Begun | None
    call: Call | None = None
    files: FileFacts | None = None
    report: StackReport | None = None
    opened: StackOpened | None = None
    warned: bool = False
    until_ns: dict[str, int] = field(default_factory=dict)

    @classmethod
    def start(cls, common: Common, typed: Commands, table: Table, *, usual: bool) -> Witnessed:
        """Before anything is read. `usual` is False where options ask for more than that all is as declared."""
        begun = begin(sys.argv[1:], os.environ, sys.stdout, locate(common.file, os.environ))
        return cls(common, typed, table, begun if usual else None)

    def run(self, call: Call, act: Act) -> StackReport:
        """Carry the verb out, and notice what it tells."""
        if self.begun is None:
            return act(call.emit)
        with contextlib.suppress(Exception):  # then nothing is kept
            self.files = self._deciding(call, os.environ)
        self.call = call
        self.report = act(lambda event: self._notice(event, call.emit))
        return self.report

    def _deciding(self, call: Call, environ: Mapping[str, str]) -> FileFacts:
        """The files that decide what is served, as they are before they are read."""
        from homellm.deploy.pull_models import locate as locate_models
        from homellm.unchanged.sources import deciding

        stack = locate_models(call.stack, call.ports.hub)
        models = [model for model in stack.models if not call.only or model.name in call.only]
        return of_files(map(str, deciding(models, wiring.hub_cache(environ), environ)))

    def _notice(self, event: Event, emit: Emit) -> None:
        match event:
            case StackOpened():
                self.opened = event
            case Note(warning=True):
                self.warned = True
            case ModelFinished(report=report):
                self.until_ns[report.name] = time.time_ns()
        emit(event)

    def keep(self, code: ExitCode) -> None:
        """Keep what is proved, if all of it is. Whatever goes wrong with that is nobody's business."""
        if code is ExitCode.OK and not self.warned and self.begun is not None:
            with contextlib.suppress(Exception):
                self._keep(self.begun, os.environ)

    def _keep(self, begun: Begun, environ: Mapping[str, str]) -> None:
        call, report, files = self.call, self.report, self.files
        if call is None or files is None or report is None or report.engine is None:
            return
        if report.problems or report.removed:
            return
        models = [model for one in report.models if (model := call.stack.model(one.name)) is not None]
        looks = [self._again(model, one) for model, one in zip(models, report.models, strict=True)]
        found = [look for look in looks if look is not None]
        if len(found) < len(report.models):
            return
        printed = self._printed(replace(report, models=tuple(again for _, again in found)))
        keep(begun, environ, call.stack, report.engine, tuple(proved for proved, _ in found), files, printed)

    def _again(self, model: Model, report: ModelReport) -> tuple[Proved, ModelReport] | None:
        """What of a model was proved, and what the next `up` tells of it; None unless both are without a blemish."""
        from homellm.deploy.again import looked_at_again

        again = looked_at_again(model, report)
        if again is None or again.seen is None or report.problems or again.state is not State.VERIFIED:
            return None
        return Proved(model, again.seen, report.container or "", self.until_ns.get(model.name, 0)), again

    def _printed(self, report: StackReport) -> bytes:
        """What an `up` prints that ends with this report and did nothing, as it is left on the screen."""
        report = self.typed.of(report)
        if self.common.json:
            from homellm.report.json_report import stack_document, text

            return text(stack_document(report)).encode("utf-8", "backslashreplace")
        screen = streams.output(self.common)
        told = io.StringIO()
        self._events(Output(told), report)
        text_ = told.getvalue() + self.table(report, streams.screen_width(sys.stdout))
        shown = fit(coloured(text_) if screen.colour else text_, sys.stdout.encoding)
        return shown.encode(sys.stdout.encoding, sys.stdout.errors or "strict")

    def _events(self, out: Output, report: StackReport) -> None:
        """What stands above the table: of a live view the headline alone is left."""
        sink = PlainSink(out)
        opened = () if self.opened is None else (self.opened,)
        finished = () if streams.live(self.common) else tuple(map(ModelFinished, report.models))
        with sink if finished else contextlib.nullcontext():
            for event in (*opened, *finished):
                sink.emit(event)
