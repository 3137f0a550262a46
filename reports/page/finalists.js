// The finalists' samples, and the intervals that their medians lie in.
const finalists = (section, rows) => {
  const list = section.samples;
  if (!list.length) return null;
  const name = i => `${data.kernels[rows.kernel[i]]} ${configuration(rows, i)}`;
  return chart('Finalists', 'Thick lines: the 95 % confidence interval of each median; dots: single samples (the slowest 2 % may lie ' +
    'outside). Where intervals overlap, neither is faster for certain.',
  () => {
    const config = intervals([{label: '95 % interval of the median', color: color(0),
      intervals: list.map(([i], n) => [n, rows.low[i], rows.ms[i], rows.high[i]])}], 'time', v => time(v), list.map((_, n) => String(n + 1)));
    const samples = list.flatMap(([, ms], n) => ms.map((x, j) => ({x, y: n + 0.15 + 0.2 * ((j * 0.618) % 1)})));
    config.data.datasets.push({label: 'samples', data: samples, pointRadius: 1.5, backgroundColor: color(7), borderColor: color(7)});
    config.options.plugins.legend.display = true;
    const sorted = samples.map(p => p.x).sort((a, b) => a - b);
    config.options.scales.x.max = Math.max(sorted[Math.floor(0.98 * (sorted.length - 1))], ...list.map(([i]) => rows.high[i])) * 1.002;
    return config;
  },
  () => table('Finalists', [{title: 'rank', number: true}, {title: 'configuration'}, {title: 'median', number: true}, {title: 'low', number: true},
    {title: 'high', number: true}, {title: 'quartiles'}], list.map(([i], n) => [n + 1, name(i), {text: time(rows.ms[i]), value: rows.ms[i]},
    {text: time(rows.low[i]), value: rows.low[i]}, {text: time(rows.high[i]), value: rows.high[i]},
    `${time(rows.q1[i])} to ${time(rows.q3[i])}`])), list.length < 6);
};
