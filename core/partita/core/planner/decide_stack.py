"""The assets of a stack decided at once: what `decide.py` says of each, by the same rules (`choices.py`)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from partita.core.catalog import CatalogAsset
from partita.core.catalog.edges import Bools, nothing
from partita.core.cells.stack import Stack, which_rows
from partita.core.planner.choices import Choice, Deciding, choose, either
from partita.core.planner.stacks import Above, chosen_of
from partita.core.planner.targets import follows, wanted


@dataclass(frozen=True, slots=True)
class _StackDraft:
    """The drafts of the assets of a stack."""

    status: Stack
    asked: Bools
    follows: Bools
    surely: Bools


def decide_stack(deciding: Deciding, stack: Stack) -> list[CatalogAsset]:
    """Choose the cells of assets that need nothing but the same partition of others.

    Gives those that something keeps from running: they are still to be decided one by one, to say what and why.
    """
    above = Above.of(stack.assets, stack.shape[1])
    draft = _stack_draft(deciding, stack, above)
    run: Bools = np.broadcast_to(draft.asked | draft.follows, stack.shape)
    gone = above.marked({key: mask for key, one in above.inputs.items() if (mask := deciding.gone_of(one)) is not None})
    held_up = which_rows(run & gone)
    choice = choose(draft, run, alone=True)
    makes, lacks = run & stack.missing, stack.missing & ~run
    runs, made, lacking = which_rows(run), which_rows(makes), which_rows(lacks)
    for row, asset in enumerate(stack.assets):
        key = asset.key
        if held_up[row]:
            continue
        deciding.gone[key] = lacks[row] if lacking[row] else None
        if runs[row]:
            conditional = choice.conditional if choice.conditional.ndim == 1 else choice.conditional[row]
            deciding.decided.choices[key] = Choice(run[row], choice.reason[row], conditional)
        if made[row]:
            deciding.made[key] = makes[row]
    return [asset for asset, stops in zip(stack.assets, held_up, strict=True) if stops]


def _stack_draft(deciding: Deciding, stack: Stack, above: Above) -> _StackDraft:
    """What `_draft` says of each asset of the stack."""
    targets, none = deciding.targets, nothing(stack.shape[1])
    asked = may = none
    for cells, mode in ((targets.cells, targets.mode), (targets.added, targets.mode_of_added())):
        chosen = chosen_of(stack.assets, stack.shape[1], cells)
        if chosen is not none:
            asked = either(asked, chosen & wanted(stack, mode))
            may = either(may, chosen) if follows(mode) else may
    if may is none:
        return _StackDraft(stack, asked, none, none)
    choices = deciding.decided.choices
    changed = above.marked({key: choices[key].run for key in above.inputs if key in choices})
    surely = above.marked({key: deciding.made[key] for key in above.inputs if key in deciding.made})
    return _StackDraft(stack, asked, changed if changed is none else changed & may, surely)
