// The best time so far, against evaluations and seconds.
const convergence = section => {
  const steps = section.convergence;
  if (steps.length < 2 || steps[steps.length - 1][0] < 2) return null;
  const last = steps[steps.length - 1][2];
  const against = (title, at, xTitle) => chart(title, 'The best time so far; finals are left out.', () => ({type: 'scatter',
    data: {datasets: [{label: 'best so far', showLine: true, stepped: true, pointRadius: 2, borderColor: color(0), backgroundColor: color(0),
      data: steps.map(step => ({x: step[at], y: step[2]}))}]}, options: {plugins: {legend: {display: false},
      tooltip: {callbacks: {label: c => `${time(c.raw.y)} at ${digits(c.raw.x, 3)}`}}},
    scales: {x: axis(xTitle), y: msAxis('time', steps.map(step => step[2]))}}}),
  () => table(title, [{title: xTitle, number: true}, {title: 'best so far', number: true},
    {title: 'share of the last', number: true}], steps.map(step => [{text: digits(step[at], 4), value: step[at]},
    {text: time(step[2]), value: step[2]}, {text: percent(last / step[2]), value: last / step[2]}])));
  const hasSeconds = steps.every(step => step[1] !== null);
  return element('div', {class: 'grid wide'}, against('Convergence by evaluations', 0, 'evaluations'),
    hasSeconds ? against('Convergence by seconds', 1, 'seconds') : null);
};
