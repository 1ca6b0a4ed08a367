// Draws the figures in the colours of the page, follows the theme, and fits them to the paper when it is printed.
(() => {
  "use strict";
  const figures = JSON.parse(document.getElementById("figures").textContent);
  const plots = [...document.querySelectorAll("[data-figure]")];
  const hovers = matchMedia("(hover: hover)").matches;
  const family = getComputedStyle(document.body).fontFamily;

  const themed = (layout, width) => {
    const css = getComputedStyle(document.documentElement);
    const colour = (name) => css.getPropertyValue(name).trim();
    const out = structuredClone(layout);
    out.paper_bgcolor = out.plot_bgcolor = "rgba(0,0,0,0)";
    out.font = { ...out.font, family, color: colour("--soft") };
    out.hoverlabel = { bgcolor: colour("--card"), bordercolor: colour("--line"), align: "left", font: { family, size: 12.5, color: colour("--ink") } };
    out.modebar = { bgcolor: "rgba(0,0,0,0)", color: colour("--soft"), activecolor: colour("--accent") };
    for (const key of Object.keys(out)) {
      if (/^[xy]axis\d*$/.test(key)) {
        Object.assign(out[key], { gridcolor: colour("--grid"), linecolor: colour("--line"), tickcolor: colour("--line") });
      }
    }
    if (innerWidth < 640 && out.showlegend && !(out.legend.y < 0)) {
      out.legend = { ...out.legend, y: -0.24, yanchor: "top", font: { size: 11 } };
      out.height += 70;
      out.margin = { ...out.margin, l: 40, t: 12 };
    }
    if (width) Object.assign(out, { width, autosize: false });
    return out;
  };

  const draw = (widthOf) => Promise.all(plots.map((div) => {
    const figure = figures[div.dataset.figure];
    const small = div.closest(".grid") !== null;
    return Plotly.react(div, figure.data, themed(figure.layout, widthOf?.(div)), {
      responsive: true,
      displaylogo: false,
      showSendToCloud: false,
      plotlyServerURL: "",
      displayModeBar: hovers && !small ? "hover" : false,
      modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"],
      toImageButtonOptions: { format: "svg", filename: div.dataset.figure },
    });
  }));

  for (const button of document.querySelectorAll("[data-scale]")) {
    const axis = figures[button.dataset.scale].layout.yaxis;
    const linear = axis.type === "log" ? { ...axis, type: "linear", rangemode: "tozero" } : axis;
    const heights = figures[button.dataset.scale].data.filter((trace) => trace.yaxis !== "y2").flatMap((trace) => trace.y);
    const shown = heights.filter((y) => y > 0);
    const decades = Math.log10(Math.max(...shown) / Math.min(...shown));
    const steps = decades > 8 ? {} : { dtick: decades > 3 ? 1 : "D2" };
    const log = axis.type === "log" ? axis : { ...axis, type: "log", range: undefined, rangemode: "normal", exponentformat: "power", ...steps };
    const name = () => {
      button.textContent = figures[button.dataset.scale].layout.yaxis === log ? "linear scale" : "log scale";
    };
    button.addEventListener("click", () => {
      const layout = figures[button.dataset.scale].layout;
      layout.yaxis = layout.yaxis === log ? linear : log;
      name();
      draw();
    });
    name();
  }

  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => draw());
  const root = document.documentElement;
  addEventListener("beforeprint", () => {
    root.dataset.printing = "";
    draw((div) => (div.closest(".grid") ? 210 : div.closest(".pair") ? 320 : 660));
  });
  addEventListener("afterprint", () => {
    delete root.dataset.printing;
    draw();
  });
  draw().then(() => { root.dataset.drawn = plots.length; });

  const links = new Map([...document.querySelectorAll('nav a[href^="#"]')].map((a) => [a.hash.slice(1), a]));
  const sections = [...document.querySelectorAll("section")];
  const mark = () => {
    const here = sections.findLast((s) => s.getBoundingClientRect().top < innerHeight / 3) ?? sections[0];
    for (const [id, link] of links) link.classList.toggle("here", id === here.id);
  };
  addEventListener("scroll", mark, { passive: true });
  mark();
})();
