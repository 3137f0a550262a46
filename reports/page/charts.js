// Charts by Chart.js, each beside a table that says the same. Without Chart.js there are the tables.
const hasCharts = typeof Chart !== 'undefined';
const charts = [];

const theme = () => {
  Chart.defaults.color = css('--quiet');
  Chart.defaults.borderColor = css('--line');
  Chart.defaults.font.family = 'system-ui, "DejaVu Sans", sans-serif';
  Chart.defaults.animation = false;
  Chart.defaults.maintainAspectRatio = false;
};

// `make` gives Chart.js's configuration; it is asked again when light turns to dark. `makeTable`, where there is a table,
// is asked when it is first looked at.
const chart = (title, words, make, makeTable, low = false) => {
  const figure = element('figure', {}, element('h3', {text: title}), element('figcaption', {text: words}));
  if (hasCharts) {
    const canvas = element('canvas', {role: 'img', 'aria-label': `${title}. ${words}`});
    figure.append(element('div', {class: low ? 'canvas low' : 'canvas'}, canvas));
    charts.push({canvas, make, drawn: null});
  }
  if (makeTable && hasCharts) {
    const details = element('details', {}, element('summary', {text: `${title}: as a table`}));
    details.addEventListener('toggle', () => details.append(makeTable()), {once: true});
    figure.append(details);
  } else if (makeTable) {
    figure.append(makeTable());
  }
  return figure;
};

const drop = within => {
  for (const one of charts.filter(one => within.contains(one.canvas))) {
    if (one.drawn) one.drawn.destroy();
    charts.splice(charts.indexOf(one), 1);
  }
  within.replaceChildren();
};

const draw = () => {
  if (!hasCharts) return;
  theme();
  for (const one of charts) {
    if (one.drawn) one.drawn.destroy();
    one.drawn = new Chart(one.canvas, one.make());
  }
  document.documentElement.dataset.drawn = String(charts.length);
};
dark.addEventListener('change', draw);
// Paper is white, and has another width than the screen.
for (const [event, paper] of [['beforeprint', true], ['afterprint', false]]) {
  window.addEventListener(event, () => {
    document.documentElement.toggleAttribute('data-paper', paper);
    draw();
  });
}

const axis = (title, type = 'linear') => ({type, title: {display: true, text: title}});
const msAxis = title => ({...axis(title, 'logarithmic'), ticks: {callback: v => {
  const lead = v / 10 ** Math.floor(Math.log10(v) + 1e-9);
  return [1, 2, 5].some(n => Math.abs(lead - n) < 1e-6) ? time(v) : null;
}}});

// Of points that fall on one spot of the screen the first: tens of thousands look like these few.
const spotsAcross = 400, spotsDown = 160;
const apart = (points, xAxis, yAxis) => {
  if (points.length < 2000) return points;
  const scale = (axis, spots, values) => {
    const map = axis.type === 'logarithmic' ? Math.log : v => v;
    const [low, high] = extent(values.map(map));
    return v => Math.round(spots * (map(v) - low) / (high - low || 1));
  };
  const x = scale(xAxis, spotsAcross, points.map(p => p.x)), y = scale(yAxis, spotsDown, points.map(p => p.y));
  const taken = new Uint8Array((spotsAcross + 1) * (spotsDown + 1));
  return points.filter(p => {
    const spot = x(p.x) * (spotsDown + 1) + y(p.y);
    return !taken[spot] && (taken[spot] = 1);
  });
};

const tooltip = (rows, extra) => ({callbacks: {label: context => {
  const i = context.raw.i;
  return i === undefined ? '' : [data.kernels[rows.kernel[i]], configuration(rows, i),
    ...(rows.ms[i] === null ? [] : [time(rows.ms[i])]), ...(extra ? [extra(i)] : [])];
}}});

// A point for each row of `list`, colored by kernel.
const scatter = (rows, list, x, y, xAxis, yAxis, extra) => () => ({type: 'scatter',
  data: {datasets: data.kernels.map((name, k) => ({
    label: name, pointRadius: 2, backgroundColor: color(k), borderColor: color(k),
    data: apart(list.filter(i => rows.kernel[i] === k).map(i => ({x: x(i), y: y(i), i})), xAxis, yAxis),
  })).filter(set => set.data.length > 0)},
  options: {scales: {x: xAxis, y: yAxis}, normalized: true, parsing: false, plugins: {tooltip: tooltip(rows, extra)}}});

// Lines from low to high, one below the other: [{label, color, intervals: [[row, low, middle, high]]}]
const intervals = (sets, title, ticks, names) => ({type: 'scatter',
  data: {datasets: sets.map(set => ({label: set.label, showLine: true, spanGaps: false, borderWidth: 4,
    borderColor: set.color, backgroundColor: set.color, pointRadius: set.intervals.flatMap(() => [0, 4, 0, 0]),
    data: set.intervals.flatMap(([y, low, middle, high]) =>
      [{x: low, y}, {x: middle, y, low, high}, {x: high, y}, {x: NaN, y}])}))},
  options: {scales: {x: {...axis(title), ticks: {callback: ticks}},
    y: {min: -0.5, max: names.length - 0.5, reverse: true, afterBuildTicks: scale => {
      scale.ticks = names.map((_, value) => ({value}));
    }, ticks: {autoSkip: false, callback: n => names[n]}, grid: {display: false}}},
  plugins: {legend: {display: sets.length > 1},
    tooltip: {filter: item => item.raw.low !== undefined,
      callbacks: {label: c => `${c.dataset.label}: ${ticks(c.raw.x)} (${ticks(c.raw.low)} to ${ticks(c.raw.high)})`}}}}});
