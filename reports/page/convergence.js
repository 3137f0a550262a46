// The best time so far, against evaluations.
const convergence = section => {
  const steps = section.convergence;
  if (steps.length < 2 || steps[steps.length - 1][0] < 2) return null;
  const last = steps[steps.length - 1][2];
  return chart('Convergence', 'The best time so far; finals are left out.', () => ({type: 'scatter',
    data: {datasets: [{label: 'best so far', showLine: true, stepped: true, pointRadius: 2, borderColor: color(0), backgroundColor: color(0),
      data: steps.map(step => ({x: step[0], y: step[2]}))}]}, options: {plugins: {tooltip: {callbacks: {label: c => `${time(c.raw.y)} at ${c.raw.x}`}}},
      scales: {x: {...axis('evaluations'), min: 0, max: steps.at(-1)[0]}, y: msAxis('time', steps.map(step => step[2]))}}}),
  () => table('Convergence', [{title: 'evaluations', number: true}, {title: 'seconds', number: true}, {title: 'best so far', number: true},
    {title: 'share of the last', number: true}], steps.map(([evaluations, seconds, ms]) => [evaluations, rounded(seconds),
    {text: time(ms), value: ms}, {text: percent(last / ms), value: last / ms}])));
};
