// The kernels beside each other, each at its best and at its default.
const overDefault = one => one.default_ms === null ? '' : {text: digits(one.default_ms / one.ms, 3) + 'x', value: one.default_ms / one.ms};
const kernelTable = section => table('The best of each kernel', [
  {title: 'kernel'}, {title: 'configuration'}, {title: 'time', number: true}, {title: '95 % interval'}, {title: 'n', number: true},
  {title: 'its default', number: true}, {title: 'over its default', number: true}, {title: 'rate'},
  {title: 'compared with'}], section.best.map(one => [one.kernel, withoutConstants(Object.entries(one.values)),
  {text: time(one.ms), value: one.ms}, intervalText(one), one.n,
  one.default_ms === null ? '' : {text: time(one.default_ms), value: one.default_ms},
  overDefault(one),
  rateText(one), one.compared_with]));

const ladder = section => section.best.length < 2 && section.best[0].default_ms === null ? null : chart('Speed of the kernels', 'Each with its best configuration and with its default, as a share of the winner’s speed.',
  () => ({type: 'bar', data: {labels: section.best.map(one => one.kernel), datasets: [
    {label: 'best', data: section.best.map(one => section.best[0].ms / one.ms), backgroundColor: color(0)},
    {label: 'default', data: section.best.map(one => one.default_ms === null ? null : section.best[0].ms / one.default_ms),
      backgroundColor: color(7)}]},
  options: {indexAxis: 'y', scales: {x: shareAxis('share of the winner’s speed'), y: {ticks: {autoSkip: false}}},
    plugins: {legend: {display: true}, tooltip: {callbacks: {label: c => `${c.dataset.label}: ${percent(c.raw)}`}}}}}),
  null, 2 * section.best.length);
