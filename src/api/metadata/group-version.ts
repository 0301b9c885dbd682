export type GroupVersion = { readonly group: string; readonly version: string }

/** Parses `v1` or `storage.orch.io/v1`. @returns null if it is neither */
export function parseGroupVersion(apiVersion: string): GroupVersion | null {
  const slash = apiVersion.indexOf('/')
  if (slash === -1) return apiVersion === '' ? null : { group: '', version: apiVersion }
  const group = apiVersion.slice(0, slash)
  const version = apiVersion.slice(slash + 1)
  if (group === '' || version === '' || version.includes('/')) return null
  return { group, version }
}

export function formatGroupVersion(of: GroupVersion): string {
  return of.group === '' ? of.version : `${of.group}/${of.version}`
}

/**
 * Orders versions of a group by the preference of discovery: stable before beta before alpha,
 * higher numbers first, anything else last by name.
 *
 * @source apimachinery `pkg/version` CompareKubeAwareVersionStrings
 */
export function compareVersions(a: string, b: string): number {
  const left = rank(a)
  const right = rank(b)
  if (left === null || right === null) {
    if (left === null && right === null) return a < b ? -1 : a > b ? 1 : 0
    return left === null ? 1 : -1
  }
  return right.stage - left.stage || right.major - left.major || right.minor - left.minor
}

function rank(version: string): { stage: number; major: number; minor: number } | null {
  const match = /^v([1-9][0-9]{0,8})(?:(alpha|beta)([1-9][0-9]{0,8}))?$/.exec(version)
  if (match === null) return null
  const stage = match[2] === undefined ? 2 : match[2] === 'beta' ? 1 : 0
  return { stage, major: Number(match[1]), minor: Number(match[3] ?? 0) }
}
