/**
 * Which numbered statements of the API's specification no test is named after. Informational: ends with 0.
 *
 *   node dist/test/tidy/spec-coverage.js
 *
 * A line of `test/spec-statements.txt` is a number, a word (or `-`) and what the statement says in our words.
 * A test covers it whose name begins `spec <number>: …` (several numbers with commas) and has the word in it.
 */
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const testRoot = fileURLToPath(new URL('../../../test/', import.meta.url))

type Statement = { readonly number: string; readonly word: string; readonly text: string }
type NamedTest = { readonly numbers: readonly string[]; readonly words: string }

const statements = readStatements()
const tests = sourcesUnder(testRoot).flatMap((path) => namedTests(readFileSync(path, 'utf8')))
const open = statements.filter((statement) => !tests.some((test) => proves(test, statement)))
for (const { number, text } of open) console.log(`no test: ${number.padEnd(7)} ${text}`)
const stray = new Set(tests.flatMap(({ numbers }) => numbers))
for (const { number } of statements) stray.delete(number)
if (stray.size > 0) console.log(`tested, but not on the list: ${[...stray].sort().join(', ')}`)
const proven = statements.length - open.length
console.log(
  `${proven} of ${statements.length} statements have a test; ${tests.length} tests name a statement`,
)

function readStatements(): readonly Statement[] {
  const lines = readFileSync(join(testRoot, 'spec-statements.txt'), 'utf8').split('\n')
  return lines.flatMap((line, at) => {
    if (line === '' || line.startsWith('#')) return []
    const match = /^([\d.]+) +(\S+) +(\S.*)$/.exec(line)
    if (match === null) throw new Error(`spec-statements.txt:${at + 1} is no number, word and text`)
    return [{ number: match[1] ?? '', word: match[2] ?? '', text: match[3] ?? '' }]
  })
}

function proves(test: NamedTest, { number, word }: Statement): boolean {
  return test.numbers.includes(number) && (word === '-' || new RegExp(`\\b${word}\\b`, 'i').test(test.words))
}

function sourcesUnder(folder: string): readonly string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return sourcesUnder(path)
    return entry.name.endsWith('.ts') ? [path] : []
  })
}

function namedTests(source: string): readonly NamedTest[] {
  const found = source.matchAll(/\b(?:test|it)\(\s*(['"`])spec ([\d., ]+): (.+?)\1,/g)
  return [...found].map(([, , numbers = '', words = '']) => ({
    numbers: numbers.split(',').map((number) => number.trim()),
    words,
  }))
}
