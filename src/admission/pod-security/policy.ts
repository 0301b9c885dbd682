import type { Findings } from '../../api/errors/findings.ts'
import { invalid, keyPath } from '../../api/errors/field-error.ts'
import type { Names } from '../../api/metadata/names.ts'

/** Levels of the Pod security standards, from the least to the most restrictive. */
export const LEVELS = ['privileged', 'baseline', 'restricted'] as const
export type Level = (typeof LEVELS)[number]

/** The rules of a level as of a minor release of version 1. */
export type Policy = {
  readonly level: Level
  /** null: the newest. */
  readonly minor: number | null
}

export const MODES = ['enforce', 'audit', 'warn'] as const
export type Mode = (typeof MODES)[number]
export type Policies = { readonly [mode in Mode]: Policy }

export const PRIVILEGED: Policy = Object.freeze({ level: 'privileged', minor: null })
/** The level of `enforce` in a namespace whose label cannot be read. */
const RESTRICTED: Policy = Object.freeze({ level: 'restricted', minor: null })

export function spellPolicy({ level, minor }: Policy): string {
  return `${level}:${minor === null ? 'latest' : `v1.${minor}`}`
}

export function isLevel(text: string): text is Level {
  return LEVELS.some((level) => level === text)
}

/** @returns null: it is neither `latest` nor of the form `v1.24` */
export function parseVersion(text: string): { readonly minor: number | null } | null {
  if (text === 'latest') return { minor: null }
  const [, minor] = /^v1\.(0|[1-9][0-9]{0,4})$/.exec(text) ?? []
  return minor === undefined ? null : { minor: Number(minor) }
}

/**
 * Returns the policies of a namespace.
 *
 * @param found gets a finding for each label that cannot be read. An unreadable level counts as
 * `restricted` for `enforce` and as `privileged` for the other modes, an unreadable version as the
 * latest
 * @source upstream `k8s.io/pod-security-admission/api`, PolicyToEvaluate
 */
export function policiesOf(
  labels: Readonly<Record<string, string>>,
  defaults: Policies,
  names: Names,
  found: Findings | null,
): Policies {
  const of = (mode: Mode): Policy => {
    const levelKey = names.labelUnder('pod-security', mode)
    const versionKey = names.labelUnder('pod-security', `${mode}-version`)
    const level = labels[levelKey] ?? defaults[mode].level
    const isKnown = isLevel(level)
    if (!isKnown) {
      const words = `must be one of ${LEVELS.join(', ')}`
      found?.add(invalid(keyPath('metadata.labels', levelKey), level, words))
    }
    const text = labels[versionKey]
    const version = text === undefined ? { minor: defaults[mode].minor } : parseVersion(text)
    if (version === null) {
      const words = 'must be "latest" or "v1.x"'
      found?.add(invalid(keyPath('metadata.labels', versionKey), text, words))
    }
    const unreadable = mode === 'enforce' ? RESTRICTED : PRIVILEGED
    return { level: isKnown ? level : unreadable.level, minor: version?.minor ?? null }
  }
  return { enforce: of('enforce'), audit: of('audit'), warn: of('warn') }
}

export function isSamePolicy(a: Policy, b: Policy): boolean {
  return a.level === b.level && a.minor === b.minor
}
