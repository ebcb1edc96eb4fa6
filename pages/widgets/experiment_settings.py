"""The settings of an experiment as widgets: one for every option, whatever it is called."""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from tkm_core.methods import FOR_ANYONE, describe

MANY = 12  # a list longer than this is a grid, not a setting
WORDS = {
    "k": "Facilities, k",
    "t": "Dial, t",
    "repeats": "Samples",
    "size": "Points in a sample",
    "iterations": "Iterations of SGD",
    "n_epochs": "Epochs",
    "learning_rate": "Learning rate",
    "methods": "Methods",
    "solver": "Solver of TKM",
    "sizes": "Numbers of residents",
    "max_seconds": "Time limit of one run, seconds",
}


def settings(name: str, usual: Mapping[str, Any]) -> dict[str, Any]:
    """Ask for every option of an experiment; what is not a number is said in a sentence.

    Parameters
    ----------
    name : str
        Of the experiment and its effort: widgets of another one start afresh.
    usual : mapping
        The options and what they are unless changed.
    """
    asked = dict(usual)
    shown = {
        key: value for key, value in usual.items() if not (isinstance(value, tuple) and len(value) > MANY)
    }
    spots = st.columns(min(len(shown), 4) or 1)
    for number, (key, value) in enumerate(shown.items()):
        with spots[number % len(spots)]:
            asked[key] = _ask(f"setting_{name}_{key}", WORDS.get(key, key.replace("_", " ")), value, key)
    return asked


def _ask(widget: str, label: str, value: Any, key: str) -> Any:
    if key == "methods":
        chosen = st.multiselect(
            label, list(FOR_ANYONE), list(value), format_func=lambda one: describe(one).title, key=widget
        )
        if not chosen:
            msg = "Choose at least one method."
            raise ValueError(msg)
        return tuple(chosen)
    if key == "solver":
        words = {"newton": "exact", "sgd": "the paper’s SGD"}
        return st.selectbox(label, list(words), format_func=words.__getitem__, key=widget)
    if isinstance(value, tuple):
        text = st.text_input(label, ", ".join(f"{one:g}" for one in value), key=widget)
        return numbers(text, label, whole=all(isinstance(one, int) for one in value))
    if isinstance(value, int):
        return int(st.number_input(label, min_value=1, value=value, step=1, key=widget))
    return float(st.number_input(label, min_value=0.0, value=float(value), format="%g", key=widget))


def numbers(text: str, label: str, *, whole: bool) -> tuple[float, ...]:
    """A list of numbers as typed: "3, 4, 5".

    Examples
    --------
    >>> numbers("3, 4,5", "k", whole=True)
    (3, 4, 5)
    >>> numbers("0.1, x", "Dial, t", whole=False)
    Traceback (most recent call last):
    ValueError: “x” in “Dial, t” is not a number from 0 upwards. Separate numbers by commas.
    """
    found: list[float] = []
    for part in (part.strip() for part in text.split(",") if part.strip()):
        try:
            value = float(part)
        except ValueError:
            value = -1.0
        if not 0 <= value < 1e9 or (whole and value != int(value)):
            kind = "whole number" if whole else "number"
            msg = f"“{part[:20]}” in “{label}” is not a {kind} from 0 upwards. Separate numbers by commas."
            raise ValueError(msg)
        found.append(int(value) if whole else value)
    if not found:
        msg = f"“{label}” is empty: give at least one number."
        raise ValueError(msg)
    return tuple(found)
