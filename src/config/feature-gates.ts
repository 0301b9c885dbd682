import { ConfigError } from './errors.ts'
import type { Flag } from './flag.ts'
import { nearest } from './nearest.ts'

type Stage = 'Alpha' | 'Beta' | 'GA'

type GateFacts = {
  readonly stage: Stage
  /** Default value. Gates of stage GA cannot be switched. */
  readonly fallback: boolean
  /** Release of the API in which it reached this stage. */
  readonly since: string
  /** Effect of the gate; empty for stage GA. */
  readonly words: string
}

const ga = (since: string) => ({ stage: 'GA', fallback: true, since, words: '' }) as const satisfies GateFacts

/** In the order of `--help`. @source spec 9.7 */
const gateFacts = {
  APIListChunking: {
    stage: 'Beta',
    ...{ fallback: true, since: '1.9' },
    words: 'Paged lists. Off: limit and continue are ignored.',
  },
  APIServerIdentity: {
    stage: 'Alpha',
    // Later releases have it on, and their tools look for it.
    ...{ fallback: true, since: '1.20' },
    words: 'Each member keeps a Lease in the system namespace while it is ready.',
  },
  APIPriorityAndFairness: {
    stage: 'Beta',
    ...{ fallback: true, since: '1.20' },
    words: 'Requests queue by priority. No effect yet: --max-requests-inflight limits them either way.',
  },
  OpenAPIV3: {
    stage: 'Beta',
    ...{ fallback: true, since: '1.24' },
    words: 'Serves /openapi/v3.',
  },
  RemainingItemCount: {
    stage: 'Beta',
    ...{ fallback: true, since: '1.16' },
    words: 'A page has the number of remaining objects.',
  },
  ServerSideFieldValidation: {
    stage: 'Alpha',
    // Clients of later releases rely on it.
    ...{ fallback: true, since: '1.23' },
    words:
      'fieldValidation finds unknown and duplicate fields. Off: it is ignored, and they are dropped silently.',
  },
  BoundServiceAccountTokenVolume: ga('1.22'),
  CSIStorageCapacity: ga('1.24'),
  CSRDuration: ga('1.24'),
  DryRun: ga('1.19'),
  RootCAConfigMap: ga('1.21'),
  ServerSideApply: ga('1.22'),
  WarningHeaders: ga('1.22'),
  WatchBookmark: ga('1.17'),
} as const satisfies { readonly [name: string]: GateFacts }

type GateName = keyof typeof gateFacts

/** Gates that can be switched. */
export type FeatureGate = {
  [Name in GateName]: (typeof gateFacts)[Name]['stage'] extends 'GA' ? never : Name
}[GateName]

export type FeatureGates = {
  readonly isOn: { readonly [name in FeatureGate]: boolean }
  /** Warnings for the operator. */
  readonly warnings: readonly string[]
}

const names = Object.keys(gateFacts) as readonly GateName[]
const switchable = names.filter(isSwitchable)

function isSwitchable(name: GateName): name is FeatureGate {
  return gateFacts[name].stage !== 'GA'
}

/** Names that stand for all gates of a stage that are not listed individually. */
const stageWords: { readonly [word: string]: Stage } = { AllAlpha: 'Alpha', AllBeta: 'Beta' }

/** `--feature-gates=A=true,B=false`. @source spec 9.7 */
export function featureGatesFlag(): Flag<FeatureGates> {
  return {
    placeholder: 'NAME=true|false,…',
    help:
      'Turns features of this member on or off, as listed below. Members may differ. AllAlpha and AllBeta stand for ' +
      'the features that are not named themselves.',
    fallback: { isOn: switched(new Map()), warnings: [] },
    isSwitch: false,
    parse,
  }
}

function parse(values: readonly string[]): FeatureGates {
  const given = new Map<string, boolean>()
  const warnings: string[] = []
  for (const entry of values.flatMap((value) => value.split(','))) {
    if (entry.trim() === '') continue
    const { name, isOn } = parseEntry(entry)
    if (!isGate(name) || isSwitchable(name)) given.set(name, isOn)
    else if (isOn) warnings.push(`feature gate ${name} is GA and always on: it need not be named any more`)
    else throw new ConfigError(`cannot switch ${name} off: it is GA since ${gateFacts[name].since}`)
  }
  return { isOn: switched(given), warnings }
}

/** @throws ConfigError */
function parseEntry(entry: string): { readonly name: string; readonly isOn: boolean } {
  const [, name = '', value = ''] = /^\s*([^=]*?)\s*=\s*(.*?)\s*$/.exec(entry) ?? []
  if (name === '') throw new ConfigError(`must be NAME=true or NAME=false, not ${JSON.stringify(entry)}`)
  if (!isGate(name) && !Object.hasOwn(stageWords, name)) {
    const near = nearest(name, [...names, ...Object.keys(stageWords)])
    const advice = near === null ? 'see --help' : `the nearest is ${near}, see --help`
    throw new ConfigError(`has no gate ${JSON.stringify(name)}: ${advice}`)
  }
  switch (value.toLowerCase()) {
    case 'true':
    case 't':
    case '1':
      return { name, isOn: true }
    case 'false':
    case 'f':
    case '0':
      return { name, isOn: false }
    default:
      throw new ConfigError(`must be ${name}=true or ${name}=false, not ${JSON.stringify(entry)}`)
  }
}

function isGate(name: string): name is GateName {
  return Object.hasOwn(gateFacts, name)
}

function switched(given: ReadonlyMap<string, boolean>): FeatureGates['isOn'] {
  const isOn = (name: FeatureGate): boolean => {
    const { stage, fallback } = gateFacts[name]
    const word = Object.keys(stageWords).find((one) => stageWords[one] === stage)
    return given.get(name) ?? (word === undefined ? undefined : given.get(word)) ?? fallback
  }
  return Object.freeze({
    APIListChunking: isOn('APIListChunking'),
    APIServerIdentity: isOn('APIServerIdentity'),
    APIPriorityAndFairness: isOn('APIPriorityAndFairness'),
    OpenAPIV3: isOn('OpenAPIV3'),
    RemainingItemCount: isOn('RemainingItemCount'),
    ServerSideFieldValidation: isOn('ServerSideFieldValidation'),
  })
}

/** Lines for `--help`. */
export function featureGateLines(): readonly string[] {
  const lines = switchable.map((name) => {
    const { stage, fallback, since, words } = gateFacts[name]
    return `  ${name}=true|false (${stage} since ${since}, default ${fallback}) ${words}`
  })
  const fixed = names.filter((name) => !isSwitchable(name))
  return [...lines, `  GA, where true changes nothing and false is refused: ${fixed.join(', ')}`]
}
