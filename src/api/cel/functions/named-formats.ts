import { formatCheck } from '../../custom/formats.ts'
import {
  checkDns1035Label,
  checkDns1123Label,
  checkDns1123Subdomain,
  checkLabelValue,
  checkNamePrefix,
  checkQualifiedName,
} from '../../metadata/name-rules.ts'
import type { NameRule } from '../../metadata/name-rules.ts'
import type { CostRule } from '../cost/cost-rule.ts'
import { CHARACTER, sizeAt, traverse } from '../cost/cost-rule.ts'
import { ONE, add, exactly, multiply, scale } from '../cost/range.ts'
import type { CelType } from '../types.ts'
import { celList, celOptional, celString } from '../types.ts'
import { ArrayList } from '../values/array-list.ts'
import { parseUrl } from '../values/url-value.ts'
import { CelOpaque, CelOptional } from '../values/value.ts'
import type { FunctionEntry, Param } from './overload.ts'
import { call0, call1, call2, method } from './overload.ts'
import { aString } from './params.ts'

/** A rule for texts that has a name. */
class NamedFormat extends CelOpaque {
  static readonly typeName = 'kubernetes.NamedFormat'
  readonly typeName = NamedFormat.typeName
  readonly rule: NameRule

  constructor(rule: NameRule) {
    super()
    this.rule = rule
  }

  equals(other: CelOpaque): boolean {
    return other === this
  }
}

const formatType: CelType = { kind: 'opaque', name: NamedFormat.typeName }
const aFormat: Param<NamedFormat> = {
  type: formatType,
  is: (value) => value instanceof NamedFormat,
}

const FORMATS: ReadonlyMap<string, NamedFormat> = new Map(
  Object.entries<NameRule>({
    dns1123Label: checkDns1123Label,
    dns1123Subdomain: checkDns1123Subdomain,
    dns1035Label: checkDns1035Label,
    qualifiedName: checkQualifiedName,
    dns1123LabelPrefix: (text) => checkNamePrefix(text, checkDns1123Label),
    dns1123SubdomainPrefix: (text) => checkNamePrefix(text, checkDns1123Subdomain),
    dns1035LabelPrefix: (text) => checkNamePrefix(text, checkDns1035Label),
    labelValue: checkLabelValue,
    uri: (text) => {
      const parts = parseUrl(text)
      return typeof parts === 'string' ? [parts] : []
    },
    uuid: ofFormat('uuid', 'does not match the UUID format'),
    byte: ofFormat('byte', 'invalid base64'),
    date: ofFormat('date', 'invalid date'),
    datetime: ofFormat('datetime', 'invalid datetime'),
  }).map(([name, rule]) => [name, new NamedFormat(rule)]),
)

/**
 * Upstream's cost depends on the length of the format's regular expression. This is approximately
 * the cost of the longest one.
 */
const REGEX_COST = 25
const validation: CostRule = {
  actual: (args, result, evaluation) => traverse(1).actual(args, result, evaluation) * REGEX_COST + 1,
  estimate: (args) => ({
    cost: add(ONE, multiply(scale(sizeAt(args, 1), CHARACTER), exactly(REGEX_COST))),
  }),
}

/**
 * Rules for names and other texts.
 *
 * @source apiserver `pkg/cel/library/format.go`
 */
export const namedFormats: readonly FunctionEntry[] = [
  [
    'format.named',
    call1(aString, celOptional(formatType), (name) => {
      const format = FORMATS.get(name)
      return format === undefined ? CelOptional.none : new CelOptional(format)
    }),
  ],
  ...[...FORMATS].map(([name, format]): FunctionEntry => [`format.${name}`, call0(formatType, () => format)]),
  [
    'validate',
    method(
      call2(
        aFormat,
        aString,
        celOptional(celList(celString)),
        (format, text, evaluation) => {
          evaluation.step(20 + text.length / 8)
          const errors = format.rule(text)
          return errors.length === 0 ? CelOptional.none : new CelOptional(new ArrayList([...errors]))
        },
        validation,
      ),
    ),
  ],
]

function ofFormat(format: string, error: string): NameRule {
  const check = formatCheck(format)
  return (text) => (check === null || check.accepts(text) ? [] : [error])
}
