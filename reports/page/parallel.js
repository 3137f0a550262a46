// Parallel coordinates: a line for each configuration through its values.
const bands = [[0, 0.5, 'below half of the best', () => css('--line')], [0.5, 0.8, '50 to 80 %', () => css('--quiet')],
  [0.8, 0.95, '80 to 95 %', () => color(0)], [0.95, 2, 'within 5 % of the best', () => color(1)]];
const mostLines = 400;  // Not more of a color than can be told apart, evenly chosen.
const maxLabel = 96;  // Pixels.

// The values of each axis beside it: the ends, and between them as many as there is room for.
const axisValues = axes => ({id: 'axisValues', afterDatasetsDraw: ({ctx, scales: {x, y}}) => {
  const room = Math.min(maxLabel, x.getPixelForValue(1) - x.getPixelForValue(0) - 8), height = 14;
  ctx.save();
  Object.assign(ctx, {font: `12px ${Chart.defaults.font.family}`, textBaseline: 'middle', lineWidth: 4, lineJoin: 'round',
    strokeStyle: css('--ground'), fillStyle: css('--text')});
  axes.forEach(({values}, n) => {
    const at = x.getPixelForValue(n) + 4;
    const every = Math.ceil(height * (values.length - 1) / (y.bottom - y.top));
    values.forEach(({text}, i) => {
      const isEnd = i === values.length - 1;
      if (!isEnd && (i % every || values.length - 1 - i < every)) return;
      let shown = text;
      while (shown.length > 2 && ctx.measureText(shown).width > room) shown = shown.slice(0, -2) + '…';
      const place = y.getPixelForValue(i / (values.length - 1));
      ctx.strokeText(shown, at, place);
      ctx.fillText(shown, at, place);
    });
  });
  ctx.restore();
}});

const parallel = (rows, timed, kernel, ranked) => {
  const axes = ranked.filter(one => one.values.length > 1).sort((a, b) => a.p - b.p);
  if (timed.length < 2 || axes.length < 2 || !hasCharts) return null;
  const heights = axes.map(({p, values}) => [p, new Map(values.map(({number}, n) => [number, n / (values.length - 1)]))]);
  const best = rows.ms[timed[0]];
  return chart('Parallel coordinates', `${kernel}: a line for each configuration through its values ` +
    `(the lowest at the bottom), colored by its share of the best time; a click on a value highlights it in the charts of configurations and parameters. At most ${mostLines} lines of each color.`,
  () => ({type: 'scatter', data: {datasets: bands.map(([low, high, label, ink], b) => {
    const all = timed.filter(i => isHighlighted(rows, i) && best / rows.ms[i] >= low && best / rows.ms[i] < high);
    const step = Math.max(1, all.length / mostLines);
    const chosen = all.filter((_, n) => Math.floor(n / step) !== Math.floor((n - 1) / step));
    return {label, showLine: true, spanGaps: false, pointRadius: 0, borderWidth: b === 3 ? 2 : 1, order: 3 - b,
      data: chosen.flatMap(i => [...heights.map(([p, of], n) => ({x: n, y: of.get(rows.values[p][i]) ?? NaN})), {x: NaN, y: NaN}]),
      borderColor: ink(), backgroundColor: ink()};
  })}, options: {normalized: false, scales: {
    x: {type: 'linear', min: 0, max: axes.length - 1, ticks: {stepSize: 1, autoSkip: false, callback: n => axes[n] && short(data.parameters[axes[n].p].name, 16)}},
    y: {display: false, min: -0.04, max: 1.04}}, plugins: {legend: {display: true}, tooltip: {enabled: false}},
    onClick: ({x, y}, _, drawn) => {
      const axis = axes[Math.round(drawn.scales.x.getValueForPixel(x))];
      const value = axis?.values[Math.round(drawn.scales.y.getValueForPixel(y) * (axis.values.length - 1))];
      if (value) highlight(axis.p, value.number);
    },
    layout: {padding: {right: Math.min(maxLabel, 4 + 8 * Math.max(...axes.at(-1).values.map(one => one.text.length)))}}}, plugins: [axisValues(axes)]}), null);
};
