import type { Names } from '../../api/metadata/names.ts'
import type { PolicyRule } from '../rules.ts'

/**
 * One rule of a default role: verbs, API groups and resources, each separated by spaces, and the
 * names of objects, if it is limited to some. `core` is the core group, other groups are written
 * without the domain: `storage` is `storage.k8s.io` or `storage.orch.io`.
 */
export type RuleRow = readonly [verbs: string, groups: string, resources: string, ...names: string[]]

/** The rules of roles by the name of the role, or the last part of it. */
export type RoleTable = { readonly [role: string]: readonly RuleRow[] }

export const READ = 'get list watch'
export const CHANGE = 'create delete deletecollection patch update'

export const WRITE_EVENTS: RuleRow = ['create patch update', 'core events', 'events']

/** Returns the rules of rows; lists are sorted, as upstream stores them. */
export function rulesOfRows(names: Names, rows: readonly RuleRow[]): readonly PolicyRule[] {
  return rows.map(([verbs, groups, resources, ...resourceNames]) => ({
    verbs: sorted(verbs.split(' ')),
    apiGroups: sorted(groups.split(' ').map((stem) => groupOf(names, stem))),
    resources: sorted(resources.split(' ')),
    ...(resourceNames.length === 0 ? {} : { resourceNames: sorted(resourceNames) }),
  }))
}

function groupOf(names: Names, stem: string): string {
  if (stem === '*') return '*'
  return names.group(stem === 'core' ? '' : stem)
}

function sorted(texts: readonly string[]): readonly string[] {
  return [...texts].sort()
}
