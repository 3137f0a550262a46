// The counters and instructions of two finalists beside each other, which a person chooses.
const factsOf = one => new Map(one.launches.flatMap(launch => {
  const of = one.launches.length > 1 ? `${launch.name}: ` : '';
  return Array.from({length: launch.values.length / 2}, (_, n) => [of + data.fact_names[launch.values[2 * n]], launch.values[2 * n + 1]]);
}));

const besideEachOther = (section, rows) => {
  const list = section.facts;
  if (list.length < 2) return null;
  const options = list.map((one, n) => [String(n), `${n + 1}: ${data.kernels[rows.kernel[one.row]]} ${configuration(rows, one.row)}`]);
  const body = element('div');
  const fill = () => {
    const [one, other] = [left, right].map(choice => factsOf(list[Number(choice.value)]));
    // Counters and energy first: they say what happened, instructions only what there is.
    const names = [...new Set([...one.keys(), ...other.keys()])]
      .sort((a, b) => /code\.|main_loop\./.test(a) - /code\.|main_loop\./.test(b) || (a < b ? -1 : 1));
    const cell = value => value === undefined ? null : {text: value >= 1e5 ? count(Math.round(value)) : digits(value), value};
    drop(body);
    const [first, second] = [left, right].map(choice => options[Number(choice.value)][1]);
    body.append(table(`First: ${first}. Second: ${second}.`, [{title: 'fact'}, {title: 'first', number: true},
      {title: 'second', number: true}, {title: 'second / first', number: true}],
    names.map(name => [name, cell(one.get(name)), cell(other.get(name)), one.get(name) && other.has(name) ? rounded(other.get(name) / one.get(name)) : null])));
  };
  const left = choice('First', options, '0', fill), right = choice('Second', options, '1', fill);
  fill();
  return element('section', {}, element('h3', {text: 'Two finalists beside each other'}),
    element('p', {text: 'What hardware counters, the power meter and the machine code tell of each, as far as they were read.'}),
    element('div', {class: 'controls'}, left.label, right.label), body);
};
