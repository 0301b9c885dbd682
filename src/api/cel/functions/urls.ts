import { traverse } from '../cost/cost-rule.ts'
import type { Evaluation } from '../evaluate/evaluation.ts'
import type { CelType } from '../types.ts'
import { celBool, celList, celMap, celString } from '../types.ts'
import { ArrayList } from '../values/array-list.ts'
import { EntryMap } from '../values/entry-map.ts'
import type { UrlParts } from '../values/url-value.ts'
import { UrlValue, parseUrl } from '../values/url-value.ts'
import { CelFailure } from '../values/value.ts'
import type { FunctionEntry, Outcome, Overload, Param } from './overload.ts'
import { call1, method, slow } from './overload.ts'
import { aString } from './params.ts'

const PARSE_STEPS = 45
const urlType: CelType = { kind: 'opaque', name: UrlValue.typeName }
const aUrl: Param<UrlValue> = { type: urlType, is: (value) => value instanceof UrlValue }

/**
 * Parts of URLs.
 *
 * @source apiserver `pkg/cel/library/urls.go`
 */
export const urls: readonly FunctionEntry[] = [
  [
    'isURL',
    slow(
      PARSE_STEPS,
      call1(aString, celBool, (text, evaluation) => typeof parsed(text, evaluation) !== 'string'),
    ),
  ],
  ['url', slow(PARSE_STEPS, call1(aString, urlType, urlOf, traverse(0)))],
  ['getScheme', textPart(({ scheme }) => scheme)],
  ['getHost', textPart(({ host }) => host)],
  ['getHostname', textPart(({ hostname }) => hostname)],
  ['getPort', textPart(({ port }) => port)],
  ['getEscapedPath', textPart(({ escapedPath }) => escapedPath)],
  [
    'getQuery',
    method(
      call1(aUrl, celMap(celString, celList(celString)), ({ parts: { query } }, evaluation) => {
        evaluation.step(query.size * ENTRY_STEPS)
        const entries = [...query].map(
          ([key, values]) => [`s${key}`, { key, value: new ArrayList([...values]) }] as const,
        )
        return new EntryMap(new Map(entries), evaluation)
      }),
    ),
  ],
]

/** Steps of one key of a query. */
const ENTRY_STEPS = 40

function parsed(text: string, evaluation: Evaluation): UrlParts | string {
  evaluation.step(text.length * 0.8)
  return parseUrl(text)
}

function urlOf(text: string, evaluation: Evaluation): Outcome {
  const parts = parsed(text, evaluation)
  return typeof parts === 'string'
    ? new CelFailure(`URL parse error during conversion from string: ${parts}`)
    : new UrlValue(text, parts)
}

function textPart(part: (parts: UrlParts) => string): Overload {
  return method(call1(aUrl, celString, ({ parts }) => part(parts)))
}
