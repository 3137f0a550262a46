// The energy of configurations against their time, with the front that none beats in one without losing in the other.
const joules = value => value >= 1 ? `${digits(value, 3)} J` : value >= 1e-3 ? `${digits(1e3 * value, 3)} mJ` : `${digits(1e6 * value, 3)} uJ`;

const energy = section => {
  const list = section.energy?.ranked ?? [];
  if (list.length < 2) return null;
  const front = list.filter(one => one.on_pareto_front), others = list.filter(one => !one.on_pareto_front);
  const name = one => `${one.kernel} ${withoutConstants(Object.entries(one.configuration))}`;
  const points = its => its.map(one => ({x: one.time_ms, y: one.joules_per_launch, one}));
  const finalists = list.filter(one => one.stage === 'final').length;
  return chart('Energy against time', (finalists === list.length ? `Per launch, of the ${count(list.length)} finalists whose energy was measured`
    : `Per launch, of ${count(list.length)} configurations whose energy was measured, ${count(finalists)} of them finalists; the others’ times are those of their screening`) +
    '. The line joins those that none beats in one without losing in the other.',
  () => ({type: 'scatter', data: {datasets: [
    {label: 'on the front', data: points(front), ...marker(0), showLine: true, stepped: true, pointRadius: 5, borderWidth: 2},
    ...others.length ? [{label: 'others', data: points(others), ...marker(7), pointStyle: 'rect', pointRadius: 4}] : []]},
  options: {scales: {x: msAxis('time', list.map(one => one.time_ms)),
    y: {...axis('energy'), ticks: {callback: v => joules(v), maxRotation: 0}, grace: '5%'}},
  plugins: {legend: {display: true, labels: {usePointStyle: true, boxHeight: 7}}, tooltip: {callbacks: {label: c => [name(c.raw.one), `${time(c.raw.x)}, ${joules(c.raw.y)}`]}}}}}),
  () => table('Energy against time', [{title: 'configuration'}, {title: 'time', number: true}, {title: 'energy', number: true},
    {title: 'power', number: true}, {title: 'energy x time (J s)', number: true}, {title: 'stage'}, {title: 'front'}], list.map(one => [name(one),
    {text: time(one.time_ms), value: one.time_ms}, {text: joules(one.joules_per_launch), value: one.joules_per_launch},
    one.mean_watts === null ? null : {text: `${digits(one.mean_watts, 3)} W`, value: one.mean_watts},
    rounded(one.edp_joule_seconds), one.stage, one.on_pareto_front ? 'on it' : ''])));
};
