import type { Findings } from '../../api/errors/findings.ts'
import { compileColumnPath } from '../../api/custom/column-path.ts'
import { customLimits } from '../../api/custom/limits.ts'
import { invalid, required, tooMany } from '../../api/errors/field-error.ts'
import { isJsonObject, memberOf, objectMember, objectsMember, textMember } from '../../api/json.ts'
import type { JsonObject } from '../../api/json.ts'
import { fieldAt, listIndex, member } from '../../api/schema/path.ts'
import type { Path } from '../../api/schema/path.ts'
import { utf8Length } from '../../api/utf8.ts'
import { parseMemberPath } from './member-path.ts'

/** Validates a version, except for its name, selectable fields and schema. */
export function checkVersion(version: JsonObject, at: Path, found: Findings): void {
  checkWarning(version, fieldAt(at, 'deprecationWarning'), found)
  checkScale(objectMember(version, 'subresources'), member(at, 'subresources'), found)
  checkColumns(
    objectsMember(version, 'additionalPrinterColumns'),
    member(at, 'additionalPrinterColumns'),
    found,
  )
}

/** Each column has a cost in every row of every table, so their number is limited. */
function checkColumns(columns: readonly JsonObject[], at: Path, found: Findings): void {
  const { columnsMax } = customLimits
  if (columns.length > columnsMax) {
    found.add(tooMany(fieldAt(at), columns.length, columnsMax))
    return
  }
  for (const [index, column] of columns.entries()) checkColumn(column, listIndex(at, index), found)
}

/** Maximum length of a deprecation warning in bytes. */
const WARNING_LENGTH_MAX = 256

function checkWarning(version: JsonObject, field: string, found: Findings): void {
  const warning = memberOf(version, 'deprecationWarning')
  if (typeof warning !== 'string') return
  const say = (words: string) => invalid(field, warning, words)
  if (memberOf(version, 'deprecated') !== true) {
    found.add(say('can only be set for deprecated versions'))
    return
  }
  if (utf8Length(warning) > WARNING_LENGTH_MAX) found.add(say('must be <= 256 characters long'))
  if (warning === '') found.add(say('must not be an empty string'))
  // Letters, marks, numbers, punctuation, symbols and spaces.
  const at = warning.search(/[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/u)
  if (at >= 0) {
    const begin = 'must only contain printable UTF-8 characters; non-printable character found at index'
    found.add(say(`${begin} ${utf8Length(warning.slice(0, at))}`))
  }
}

const COLUMN_TYPES = ['boolean', 'date', 'integer', 'number', 'string']
const COLUMN_FORMATS = ['byte', 'date', 'date-time', 'double', 'float', 'int32', 'int64', 'password']

function checkColumn(column: JsonObject, at: Path, found: Findings): void {
  const type = textMember(column, 'type')
  const format = textMember(column, 'format')
  const path = textMember(column, 'jsonPath')
  if (textMember(column, 'name') === '') found.add(required(fieldAt(at, 'name')))
  const types = `must be one of ${COLUMN_TYPES.join(',')}`
  if (type === '') found.add(required(fieldAt(at, 'type'), types))
  else if (!COLUMN_TYPES.includes(type)) found.add(invalid(fieldAt(at, 'type'), type, types))
  if (format !== '' && !COLUMN_FORMATS.includes(format)) {
    found.add(invalid(fieldAt(at, 'format'), format, `must be one of ${COLUMN_FORMATS.join(',')}`))
  }
  if (path === '') found.add(required(fieldAt(at, 'jsonPath')))
  else {
    const compiled = path.startsWith('.') ? compileColumnPath(path) : NO_PATH
    if (typeof compiled === 'string') found.add(invalid(fieldAt(at, 'jsonPath'), path, compiled))
  }
}

const NO_PATH = 'must be a simple json path starting with .'

const SCALE_PATHS = [
  { name: 'specReplicasPath', under: ['.spec.'], words: 'should be a json path under .spec', required: true },
  {
    name: 'statusReplicasPath',
    under: ['.status.'],
    words: 'should be a json path under .status',
    required: true,
  },
  {
    ...{ name: 'labelSelectorPath', under: ['.spec.', '.status.'], required: false },
    words: 'should be a json path under either .spec or .status',
  },
]

function checkScale(subresources: JsonObject, at: Path, found: Findings): void {
  const scale = memberOf(subresources, 'scale')
  if (!isJsonObject(scale)) return
  for (const { name, under, words, required: isRequired } of SCALE_PATHS) {
    const path = textMember(scale, name)
    const field = fieldAt(at, `scale.${name}`)
    if (path === '') {
      if (isRequired) found.add(required(field))
      continue
    }
    if (!path.startsWith('.')) {
      found.add(invalid(field, path, NO_PATH))
      continue
    }
    if (!under.some((prefix) => path.startsWith(prefix))) {
      found.add(invalid(field, path, words))
      continue
    }
    if (parseMemberPath(path) !== null) continue
    found.add(invalid(field, path, 'must be a json path in the dot notation, without indexes'))
  }
}
