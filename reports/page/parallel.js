// Parallel coordinates: a line for each configuration through its values.
const bands = [[0, 0.5, 'below half of the best'], [0.5, 0.8, '50 to 80 %'], [0.8, 0.95, '80 to 95 %'], [0.95, 2, 'within 5 % of the best']];
const mostLines = 400;  // Not more of a color than can be told apart, evenly chosen.

const parallel = (rows, timed, kernel, ranked) => {
  const names = ranked.filter(one => one.values.length > 1).map(one => one.p).sort((a, b) => a - b);
  if (timed.length < 2 || names.length < 2 || !hasCharts) return null;
  const place = new Map(ranked.map(({p, values}) => [p, new Map(values.map(({number}, n) => [number, n / (values.length - 1)]))]));
  const best = rows.ms[timed[0]];
  return chart('Parallel coordinates', `${kernel}: a line for each configuration through its values ` +
    `(lowest value at the bottom), colored by its share of the best time. At most ${mostLines} lines of each color.`,
  () => ({type: 'scatter', data: {datasets: bands.map(([low, high, label], b) => {
    const all = timed.filter(i => best / rows.ms[i] >= low && best / rows.ms[i] < high);
    const step = Math.max(1, all.length / mostLines);
    const chosen = all.filter((_, n) => Math.floor(n / step) !== Math.floor((n - 1) / step));
    return {label, showLine: true, spanGaps: false, pointRadius: 0, borderWidth: b === 3 ? 2 : 1, order: 3 - b,
      data: chosen.flatMap(i => [...names.map((p, n) => ({x: n, y: place.get(p).get(rows.values[p][i]) ?? NaN})), {x: NaN, y: NaN}]),
      borderColor: heat(0.15 + 0.28 * b).background, backgroundColor: heat(0.15 + 0.28 * b).background};
  })}, options: {normalized: false, scales: {
    x: {type: 'linear', min: 0, max: names.length - 1, ticks: {stepSize: 1, autoSkip: false, callback: n => data.parameters[names[n]]?.name}},
    y: {min: -0.02, max: 1.02, ticks: {display: false}}}, plugins: {tooltip: {enabled: false}}}}), null);
};
