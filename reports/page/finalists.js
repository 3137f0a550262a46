// The finalists' samples, and the intervals that their medians lie in.
const finalists = (section, rows) => {
  const list = section.samples;
  if (!list.length) return null;
  return chart('Finalists', 'Thick lines: the 95 % confidence interval of each median; dots: single samples (the slowest 2 % may lie ' +
    'outside). Where intervals overlap, neither is faster for certain.',
  () => {
    const config = intervals([{label: '95 % interval of the median', color: color(0),
      intervals: list.map((one, n) => [n, one.low, rows.ms[one.row], one.high])}], 'time', v => time(v, digits), list.map((_, n) => String(n + 1)));
    const samples = list.flatMap((one, n) => one.ms.map((x, j) => ({x, y: n + 0.15 + 0.2 * ((j * 0.618) % 1)})));
    if (samples.length) config.data.datasets.push({label: 'samples', data: samples, pointRadius: 1.5, backgroundColor: color(7), borderColor: color(7)});
    config.options.plugins.legend.display = true;
    config.options.scales.y.title = {display: true, text: 'rank'};
    const sorted = [...samples.map(p => p.x), ...list.map(one => one.low)].sort((a, b) => a - b);
    const most = Math.max(sorted[Math.floor(0.98 * (sorted.length - 1))], ...list.map(one => one.high));
    config.options.scales.x.max = most + (0.02 * (most - sorted[0]) || 0.01 * most);
    return config;
  },
  () => table('Finalists', [{title: 'rank', number: true}, {title: 'configuration'}, {title: 'median', number: true}, {title: 'low', number: true},
    {title: 'high', number: true}, {title: 'n', number: true}], list.map((one, n) => [n + 1,
    `${data.kernels[rows.kernel[one.row]]} ${configuration(rows, one.row)}`, {text: time(rows.ms[one.row]), value: rows.ms[one.row]},
    {text: time(one.low), value: one.low}, {text: time(one.high), value: one.high}, one.n])), list.length);
};
