/**
 * Prints which statements of `docs/specification.md` no test is named after. Informational: exits
 * with 0.
 *
 *   node dist/test/tidy/spec-coverage.js
 *
 * A test proves a statement if its title begins with `spec NUMBER: ` (several numbers with commas)
 * and contains the statement's label, or the words of the comment `<!-- test: words -->` at its
 * end.
 */
import { namedTests, proves, readSpecification } from './specification.ts'
import type { Standing } from './specification.ts'

const { headings, statements } = readSpecification()
const tests = namedTests()
const count = (standing: Standing): number =>
  statements.filter((statement) => statement.standing === standing).length
for (const { number, label, standing } of statements) {
  if (standing === 'untested') console.log(`no test: ${number.padEnd(7)} ${label}`)
}
const unproven = statements.filter(
  (statement) => statement.standing === 'tested' && !tests.some((test) => proves(test, statement)),
)
for (const { number, label, proof } of unproven) {
  console.log(`no test named: ${number.padEnd(7)} ${label} (spec ${proof.number}: ... ${proof.words})`)
}
console.log(
  `${statements.length} statements in ${headings.length} sections: ` +
    `${count('tested') - unproven.length} proven by a test, ${count('untested') + unproven.length} without one, ` +
    `${count('not-yet')} not yet, ${count('note')} about others; ${tests.length} tests name a statement`,
)
