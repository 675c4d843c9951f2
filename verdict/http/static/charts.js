// Draws the charts, and draws them again when the numbers change.
const charts = document.getElementById("charts");
const HEIGHT = 200, AGAIN_MS = 15000, LINES = 8;
let drawn = [], newest = { times: [], charts: [] };

const utc = (seconds) => new Date(seconds * 1000).toISOString();
const number = (value) => (value == null ? "–" : value.toLocaleString("en", { maximumFractionDigits: 1 }));

// A colour in the browser's current scheme.
function colour(name) {
  const probe = document.createElement("i");
  probe.className = `${name} tone`;
  charts.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}

function options(chart, width) {
  const ink = colour("dim"), grid = { stroke: colour("grid"), width: 1 };
  const axis = { stroke: ink, grid, ticks: grid, font: "12px system-ui, sans-serif" };
  const line = ({ name, tone }, at) => ({
    label: name, width: 1.5, points: { show: true, size: 3 }, stroke: colour(tone || `line-${at % LINES}`),
    dash: at < LINES ? undefined : [6, 3], value: (_, value) => number(value),
  });
  return {
    width, height: HEIGHT, tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC"),
    series: [{ label: "UTC", value: (_, at) => (at == null ? "–" : utc(at).slice(11, 16)) }, ...chart.series.map(line)],
    axes: [
      { ...axis, values: (_, times) => times.map((at) => utc(at).slice(11, 16)) },
      { ...axis, label: chart.unit, labelFont: axis.font, labelSize: 18, size: 64, values: (_, ticks) => ticks.map(number) },
    ],
    scales: { y: { range: (_, low, high) => [0, Math.max(high ?? 0, 1) * 1.05] } },
  };
}

function draw() {
  const { times, charts: found } = newest;
  for (const one of drawn) one.destroy();
  const places = charts.querySelectorAll(".chart");
  drawn = found.map((chart, at) => {
    const lines = chart.series.map((one) => one.values);
    return new uPlot(options(chart, places[at].clientWidth), [times, ...lines], places[at]);
  });
}

async function renew() {
  const answer = await fetch(charts.dataset.from).catch(() => null);
  if (!answer?.ok) return; // the page itself says when there is no response
  newest = await answer.json();
  draw();
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
addEventListener("resize", draw);
setInterval(() => document.hidden || renew(), AGAIN_MS);
renew();
