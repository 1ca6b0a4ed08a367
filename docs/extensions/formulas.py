"""Formulas as MathML, made when the pages are built: a browser shows them without a script, a font or a network."""

from __future__ import annotations

import re

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

# LaTeX that the converter does not know, or sets too tight, as what it should read instead.
BEFORE = (
    (re.compile(r"\\arg\\(max|min)(?![a-z])"), r"\\operatorname{arg}\\,\\\1"),
    (re.compile(r"\\(ln|log|exp|arcsin)(?![a-z])\s*(?=[A-Za-z0-9]|\\(?!left|[bB]ig|limits|,)[a-zA-Z])"), r"\\\1\\,"),
)
# MathML that a browser would set otherwise than LaTeX does.
AFTER = (
    (re.compile(r"<mo>(/|&#x0002F;)</mo>"), r'<mo lspace="0" rspace="0">/</mo>'),
    (re.compile(r"<m[io]>(∞|&#x0221E;)</m[io]>"), "<mi>∞</mi>"),
    (re.compile(r"<mi>(&#x0039[1-9A-F];|&#x003A[0-9];|[\u0391-\u03a9])</mi>"), r'<mi mathvariant="normal">\1</mi>'),
    (re.compile(r"<mi>(&#x0227[CD];|&#x02AAF;|[≼⪯])</mi>"), r"<mo>\1</mo>"),
)


def mathml(latex: str, *, block: bool) -> str:
    """The formula as a `math` element; raises ValueError where a command of LaTeX is left over in it."""
    for pattern, replacement in BEFORE:
        latex = pattern.sub(replacement, latex)
    markup = str(convert(latex.strip(), display="block" if block else "inline"))
    for pattern, replacement in AFTER:
        markup = pattern.sub(replacement, markup)
    left_over = re.findall(r"\\[A-Za-z]+", markup)
    if left_over:
        raise ValueError(f"formula {latex!r}: latex2mathml does not know {', '.join(left_over)}; write it another way")
    return markup


def show_inline(translator: HTML5Translator, node: nodes.Element) -> None:
    """A formula within a sentence."""
    translator.body.append(f'<span class="formula">{mathml(node.astext(), block=False)}</span>')
    raise nodes.SkipNode


def show_block(translator: HTML5Translator, node: nodes.Element) -> None:
    """A formula by itself; it scrolls where the screen is narrow."""
    translator.body.append(f'<div class="formula">{mathml(node.astext(), block=True)}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Makes `html_math_renderer = "mathml"` possible."""
    app.add_html_math_renderer("mathml", (show_inline, None), (show_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
