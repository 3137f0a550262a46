// Charts by Chart.js, each beside a table that says the same. Without Chart.js there are the tables.
const hasCharts = typeof Chart !== 'undefined';
let charts = [];

const theme = () => {
  Chart.defaults.color = css('--quiet');
  Chart.defaults.borderColor = css('--line');
  Chart.defaults.font.family = 'system-ui, "DejaVu Sans", sans-serif';
  Chart.defaults.animation = false;
  Chart.defaults.responsive = false;
  Chart.defaults.plugins.legend.display = false;
  Chart.defaults.scales.category.ticks = {...Chart.defaults.scales.category.ticks, callback(n) {
    const label = this.getLabelForValue(n);
    return Array.isArray(label) ? label : short(label, this.isHorizontal() ? 16 : this.chart.width / 13);
  }};
};

// `make` gives Chart.js's configuration; it is asked again when light turns to dark. `makeTable`, where there is a table,
// is asked when it is first looked at.
// `lines`: how many lie below each other, where it is known.
const chart = (title, words, make, makeTable, lines = 0) => {
  if (!hasCharts && !makeTable) return null;
  const figure = element('figure', {}, element('h3', {text: title}), element('figcaption', {text: words}));
  if (hasCharts) {
    const canvas = element('canvas', {role: 'img', 'aria-label': `${title}. ${words}`});
    const place = element('div', {class: 'canvas'}, canvas);
    if (lines) place.style.height = `${5 + 1.6 * Math.max(lines, 2)}rem`;
    figure.append(place);
    widths.observe(place);
    charts.push({canvas, make, drawn: null, current: false});
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
  for (const one of charts) if (within.contains(one.canvas)) one.drawn?.destroy();
  charts = charts.filter(one => !within.contains(one.canvas));
  within.replaceChildren();
};

const drawThese = list => {
  const boxes = list.map(one => one.canvas.parentNode.getBoundingClientRect());
  list.forEach((one, n) => {
    one.drawn?.destroy();
    Object.assign(one.canvas, {width: boxes[n].width, height: boxes[n].height});
    one.drawn = new Chart(one.canvas, one.make());
    one.width = boxes[n].width;
    one.current = true;
  });
};

// Charts that are in view are drawn at once, the others a few at a time while nobody waits for them.
const atOnce = 5;
let drawing = null;
const drawOthers = async () => {
  for (let left; (left = charts.filter(one => !one.current)).length;) {
    drawThese(left.slice(0, atOnce));
    await otherWork();
  }
  drawing = null;
  document.documentElement.dataset.drawn = String(charts.length);
  performance.mark('drawn');
};
const draw = () => {
  if (!hasCharts) return;
  delete document.documentElement.dataset.drawn;
  theme();
  drawThese(charts.filter(({canvas, current}) => {
    const box = canvas.parentNode.getBoundingClientRect();
    return !current && box.top < window.innerHeight && box.bottom > 0;
  }));
  performance.mark('in view');
  drawing ??= otherWork().then(drawOthers);
};
const drawAnew = list => {
  for (const one of list) one.current = false;
  if (list.length) draw();
};
dark.addEventListener('change', () => drawAnew(charts));
// A chart has the width that its place on the page has.
const widths = new ResizeObserver(entries => drawAnew(charts.filter(one => one.current
  && entries.some(({target, contentRect}) => target.contains(one.canvas) && Math.abs(contentRect.width - one.width) >= 1))));
// Paper is white, and has another width than the screen.
for (const [event, paper] of [['beforeprint', true], ['afterprint', false]]) {
  window.addEventListener(event, () => {
    document.documentElement.toggleAttribute('data-paper', paper);
    if (!hasCharts) return;
    theme();
    drawThese(charts);
  });
}

// On logarithmic axes 1, 2, 5, 10 and so on have words.
const logarithmic = text => v => {
  const lead = v / 10 ** Math.floor(Math.log10(v) + 1e-9);
  return [1, 2, 5].some(n => Math.abs(lead - n) < 1e-6) ? text(v) : null;
};
const withPrefix = v => {
  const n = Math.max(0, Math.min(4, Math.floor(Math.log10(v) / 3 + 1e-9)));
  return digits(v / 1000 ** n, 3) + ['', ' k', ' M', ' G', ' T'][n];
};
const axis = (title, type = 'linear') => ({type, title: {display: true, text: title},
  ticks: {maxRotation: 0, autoSkipPadding: 10, ...(type === 'logarithmic' ? {callback: logarithmic(withPrefix)} : {})}});
const shareAxis = title => ({...axis(title), min: 0, max: 1, ticks: {stepSize: 0.25, autoSkip: false, maxRotation: 0, callback: v => `${100 * v} %`}});
const occupancyAxis = () => ({...axis('occupancy (%)'), min: 0, max: 100});
// Round numbers between two: 1, 2 and 5 of each decade; evenly spaced where the range is less than a factor of 5.
const roundBetween = (low, high) => {
  const power = x => 10 ** Math.floor(Math.log10(x));
  const all = [];
  if (high / low < 5) {
    const raw = (high - low) / 5, step = [1, 2, 2.5, 5, 10].map(lead => lead * power(raw)).find(one => one >= raw);
    for (let at = Math.ceil(low / step); at * step <= high; ++at) all.push(at * step);
  } else {
    for (let at = power(low); at <= high; at *= 10) all.push(...(high / low > 3000 ? [1] : [1, 2, 5]).map(lead => lead * at));
  }
  return all.filter(at => at >= low && at <= high).map(value => ({value: Number(value.toPrecision(6))}));
};
// Logarithmic, over what the times take.
const msAxis = (title, times) => {
  const [low, high] = extent(times), room = Math.max((high / low) ** 0.03, 1.002);
  return {...axis(title, 'logarithmic'), min: low / room, max: high * room, ticks: {callback: v => time(v, digits), maxRotation: 0},
    afterBuildTicks: scale => { scale.ticks = roundBetween(low / room, high * room); }};
};

// A point for each row of `list`; where they are many, of those that fall on one spot of the screen the first: tens of
// thousands look like these few.
const spotsAcross = 250, spotsDown = 100;
const spots = (list, {type}, number, of) => {
  const places = new Float64Array(list.length);
  for (let n = 0; n < places.length; ++n) places[n] = type === 'logarithmic' ? Math.log(of(list[n])) : of(list[n]);
  const [low, high] = extent(places);
  for (let n = 0; n < places.length; ++n) places[n] = Math.round(number * (places[n] - low) / (high - low || 1));
  return places;
};
const points = (list, x, y, xAxis, yAxis) => {
  let shown = list;
  if (list.length >= 2000) {
    const across = spots(list, xAxis, spotsAcross, x), down = spots(list, yAxis, spotsDown, y);
    const taken = new Uint8Array((spotsAcross + 1) * (spotsDown + 1));
    shown = list.filter((_, n) => {
      const spot = across[n] * (spotsDown + 1) + down[n];
      return !taken[spot] && (taken[spot] = 1);
    });
  }
  return shown.map(i => ({x: x(i), y: y(i), i})).sort((a, b) => a.x - b.x);  // `parsing: false` requires this order.
};

const tooltip = (rows, extra) => ({callbacks: {label: context => {
  const i = context.raw.i;
  return i === undefined ? '' : [data.kernels[rows.kernel[i]], configuration(rows, i),
    ...(rows.ms[i] === null ? [] : [time(rows.ms[i])]), ...(extra ? [extra(i)] : [])];
}}});

// A point for each row of `list`, by kernel; what is not highlighted lies grey below.
const scatter = (rows, list, x, y, xAxis, yAxis, extra) => () => ({type: 'scatter',
  data: {datasets: [...[...grouped(list.filter(i => isHighlighted(rows, i)), i => rows.kernel[i])].sort(([a], [b]) => a - b).map(([k, its]) => ({
    ...marker(k), label: short(data.kernels[k]), pointRadius: k % 8 > 3 ? 4 : 3, pointBorderWidth: k % 8 > 3 ? 1.5 : 0, clip: 5,
    data: points(its, x, y, xAxis, yAxis)})), ...highlighted ? [{label: 'others', pointRadius: 1.5, pointBorderWidth: 0, clip: 5, backgroundColor: css('--line'),
    data: points(list.filter(i => !isHighlighted(rows, i)), x, y, xAxis, yAxis)}] : []]},
  options: {scales: {x: xAxis, y: yAxis}, normalized: true, parsing: false, plugins: {tooltip: tooltip(rows, extra)}}});

// Lines from low to high, one below the other: [{label, color, intervals: [[row, low, middle, high]]}]. `reach`: what else of
// the axis is to be seen.
const intervals = (sets, title, ticks, names, reach = {}) => ({type: 'scatter',
  data: {datasets: sets.map(set => ({label: set.label, showLine: true, spanGaps: false, borderWidth: 4,
    borderColor: set.color, backgroundColor: set.color, pointRadius: set.intervals.flatMap(() => [0, 4, 0, 0]),
    data: set.intervals.flatMap(([y, low, middle, high]) =>
      [{x: low, y}, {x: middle, y, low, high}, {x: high, y}, {x: NaN, y}])}))},
  options: {scales: {x: {...axis(title), ...reach, ticks: {callback: ticks, includeBounds: false, maxRotation: 0, autoSkipPadding: 10}},
    y: {min: -0.5, max: names.length - 0.5, reverse: true, afterBuildTicks: scale => {
      scale.ticks = names.map((_, value) => ({value}));
    }, ticks: {autoSkip: false, callback(n) { return names[n] && short(names[n], this.chart.width / 13); }}, grid: {display: false}}},
  plugins: {legend: {display: sets.length > 1},
    tooltip: {filter: item => item.raw.low !== undefined,
      callbacks: {title: items => items.map(one => names[Math.round(one.raw.y)]), label: c => `${c.dataset.label}: ${ticks(c.raw.x)} (${ticks(c.raw.low)} to ${ticks(c.raw.high)})`}}}}});
