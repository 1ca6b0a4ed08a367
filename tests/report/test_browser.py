"""The page in a browser: it draws itself without the network, and it answers."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import optuna
import pytest

from betabo.report import write_report
from waiting import LONG

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1300,1000",
)
# A browser without a screen has no mouse either, and says so to the page.
MOUSE = """
const asked = window.matchMedia.bind(window);
window.matchMedia = (query) => (query === "(hover: hover)" ? { matches: true } : asked(query));
"""
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="needs chromium and chromedriver"),
]


@pytest.fixture(scope="module")
def browser(study: optuna.Study, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A browser that shows the report of the study."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="needs selenium")
    folder = tmp_path_factory.mktemp("browser")
    write_report(study, folder / "report.html")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (*FLAGS, f"--user-data-dir={folder / 'profile'}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": MOUSE})
    try:
        driver.page = (folder / "report.html").as_uri()
        yield driver
    finally:
        driver.quit()


@pytest.fixture
def page(browser: Any) -> Any:
    """The page, freshly loaded and drawn, on a bright desktop with a mouse."""
    emulate(browser, "light", 1300)
    browser.get(browser.page)
    wait(browser, "return document.documentElement.dataset.drawn !== undefined")
    return browser


def emulate(browser: Any, scheme: str, width: int) -> None:
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "screen", "features": features})
    metrics = {"width": width, "height": 1000, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


def wait(browser: Any, script: str) -> None:
    """Wait until a script returns true."""
    from selenium.webdriver.support.ui import WebDriverWait

    WebDriverWait(browser, LONG).until(lambda b: b.execute_script(script))


def element(page: Any, selector: str) -> Any:
    found = page.find_element("css selector", selector)
    page.execute_script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", found)
    return found


def column(page: Any, label: str) -> list[str]:
    """The shown cells of a column of the table of trials."""
    return page.execute_script(
        "const at = [...document.querySelectorAll('#table thead th')].findIndex(th => th.textContent === arguments[0]);"
        "return [...document.querySelectorAll('#table tbody tr')].map(tr => tr.cells[at].textContent)",
        label,
    )


def sort_by(page: Any, label: str) -> None:
    heads = page.find_elements("css selector", "#table thead th")
    (head,) = [head for head in heads if head.get_attribute("textContent") == label]
    page.execute_script("arguments[0].click()", head)


def filter_by(page: Any, words: str) -> None:
    field = element(page, "#filter")
    field.clear()
    field.send_keys(words)


def test_draws_every_plot(page: Any) -> None:
    plots = page.execute_script(
        "return [...document.querySelectorAll('[data-figure]')]"
        ".map(div => [div.dataset.figure, div.querySelectorAll('.main-svg').length, div.clientHeight])"
    )
    assert len(plots) >= 10
    assert all(layers > 0 and height > 100 for _, layers, height in plots)
    assert int(page.execute_script("return document.documentElement.dataset.drawn")) == len(plots)
    marks = page.execute_script("return document.querySelectorAll('#plot-convergence .scatterlayer .point').length")
    assert marks == 25 + 1 + 1 + 1 + 1  # complete, pruned, failed, interrupted, running


def test_has_no_errors_and_asks_nothing_of_the_network(page: Any) -> None:
    assert [entry for entry in page.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")] == []
    page.get_log("performance")  # what the browser's own first page asked for
    page.refresh()
    wait(page, "return document.documentElement.dataset.drawn !== undefined")
    messages = [json.loads(entry["message"])["message"] for entry in page.get_log("performance")]
    requests = [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    assert page.page in requests  # so that the log is known to record requests
    assert [url for url in requests if not url.startswith(("file:", "data:", "blob:"))] == []


def test_shows_a_tooltip_with_the_parameters(page: Any) -> None:
    from selenium.webdriver import ActionChains

    element(page, "#plot-convergence")
    points = page.find_elements("css selector", "#plot-convergence .scatterlayer .point")
    ActionChains(page).move_to_element(points[-6]).pause(0.5).perform()
    wait(page, "return document.querySelector('#plot-convergence .hoverlayer .hovertext') !== null")
    text = page.execute_script("return document.querySelector('#plot-convergence .hoverlayer').textContent")
    assert "trial" in text
    assert "rate" in text


def test_hides_a_group_by_a_click_in_the_legend(page: Any) -> None:
    visible = "return document.getElementById('plot-convergence').data.filter(t => t.visible === 'legendonly').length"
    assert page.execute_script(visible) == 0
    element(page, "#plot-convergence .legendtoggle").click()
    wait(page, f"{visible} === 1")


def test_changes_between_scales(page: Any) -> None:
    kind = "return document.getElementById('plot-trace-noise').layout.yaxis.type"
    before = page.execute_script(kind)
    button = element(page, "[data-scale=trace-noise]")
    named = button.text
    button.click()
    other = "linear" if before == "log" else "log"
    wait(page, f"return (() => {{ {kind} }})() === '{other}'")
    assert button.text != named
    button.click()
    wait(page, f"return (() => {{ {kind} }})() === '{before}'")


def test_zooms(page: Any) -> None:
    from selenium.webdriver import ActionChains

    span = "const [a, b] = document.getElementById('plot-convergence').layout.xaxis.range; return b - a"
    before = page.execute_script(span)
    area = element(page, "#plot-convergence .nsewdrag")
    ActionChains(page).move_to_element(area).click_and_hold().move_by_offset(150, 60).pause(0.2).release().perform()
    wait(page, f"return (() => {{ {span} }})() < 0.6 * {before}")


def test_offers_a_picture_and_no_upload(page: Any) -> None:
    titles = page.execute_script(
        "return [...document.querySelectorAll('#plot-convergence .modebar-btn')].map(button => button.outerHTML)"
    )
    assert [title for title in titles if "download" in title.lower()]
    assert not [title for title in titles if "share" in title.lower() or "cloud" in title.lower()]


def test_sorts_both_ways_with_blanks_last(page: Any, study: optuna.Study) -> None:
    known = [v for t in study.trials if (v := t.values[0] if t.values else None) is not None]
    for is_descending in (False, True):
        sort_by(page, "value")
        shown = column(page, "value")
        assert [float(v) for v in shown if v] == pytest.approx(sorted(known, reverse=is_descending), rel=1e-4)
        assert shown[len(known) :] == [""] * (30 - len(known))
    sort_by(page, "act")
    assert column(page, "act") == sorted(column(page, "act"), key=lambda text: (text == "", text))


def test_filters_by_words_conditions_and_state(page: Any) -> None:
    assert len(column(page, "trial")) == 30
    filter_by(page, "layers >= 4 drop<0.3")
    shown = list(zip(column(page, "layers"), column(page, "drop"), strict=True))
    assert 0 < len(shown) < 30
    assert all(int(layers) >= 4 and float(drop) < 0.3 for layers, drop in shown)
    filter_by(page, "tanh model")
    assert set(column(page, "act")) == {"tanh"}
    assert set(column(page, "origin")) == {"model"}
    filter_by(page, "no such words")
    assert column(page, "trial") == []
    assert page.find_element("id", "count").text == "0 of 30 trials"
    element(page, "#filter").clear()
    element(page, "#filter").send_keys(" ")
    element(page, "#state").send_keys("interrupted")
    assert column(page, "note") == ["its worker died"]


def test_follows_the_theme(page: Any) -> None:
    colour = "return document.getElementById('plot-convergence').layout.font.color"
    bright = page.execute_script(colour)
    emulate(page, "dark", 1300)
    wait(page, f"return (() => {{ {colour} }})() !== '{bright}'")
    assert page.execute_script("return getComputedStyle(document.body).backgroundColor") == "rgb(18, 22, 28)"
    page.execute_script("dispatchEvent(new Event('beforeprint'))")
    assert page.execute_script(colour) == bright
    page.execute_script("dispatchEvent(new Event('afterprint'))")
    assert page.execute_script(colour) != bright


@pytest.mark.parametrize("width", [360, 768, 1300, 1900])
def test_fits_every_screen(page: Any, width: int) -> None:
    emulate(page, "light", width)
    page.refresh()
    wait(page, "return document.documentElement.dataset.drawn !== undefined")
    assert page.execute_script("return document.documentElement.scrollWidth") <= width
    widths = page.execute_script(
        "return [...document.querySelectorAll('.plot')].map(div => "
        "[div.querySelector('.main-svg').getBoundingClientRect().width, div.clientWidth])"
    )
    assert all(abs(svg - room) <= 2 for svg, room in widths)


def test_plots_follow_the_window(page: Any) -> None:
    width = "return document.querySelector('#plot-convergence .main-svg').getBoundingClientRect().width"
    before = page.execute_script(width)
    emulate(page, "light", 800)
    wait(page, f"return (() => {{ {width} }})() < {before} - 100")


def test_hostile_text_is_shown_and_does_nothing(browser: Any, hostile: str, add_trial: Any, tmp_path: Path) -> None:
    study = optuna.create_study(study_name=hostile)
    ranges = {hostile: optuna.distributions.FloatDistribution(0, 1)}
    for i in range(4):
        add_trial(study, {hostile: 0.3 * i}, [float(i)], ranges)
    write_report(study, tmp_path / "hostile.html")
    browser.get_log("browser")
    browser.get((tmp_path / "hostile.html").as_uri())
    wait(browser, "return document.documentElement.dataset.drawn !== undefined")
    assert browser.find_element("css selector", "h1").text == hostile
    assert browser.execute_script("return document.querySelectorAll('img').length") == 0
    heads = browser.execute_script("return [...document.querySelectorAll('#table thead th')].map(th => th.textContent)")
    assert hostile in heads
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []
