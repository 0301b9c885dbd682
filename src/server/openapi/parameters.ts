/** A query or path parameter. @source spec 4.2 */
export type Parameter = {
  readonly name: string
  readonly in: 'query' | 'path'
  readonly type: 'string' | 'integer' | 'boolean'
  readonly description: string
  readonly required?: true
}

export const pretty = query('pretty', 'string', "If 'true', then the output is pretty printed.")

export const namespace: Parameter = {
  ...{ name: 'namespace', in: 'path', type: 'string', required: true },
  description: 'Namespace of the object.',
}

export function nameOf(kind: string): Parameter {
  return { name: 'name', in: 'path', type: 'string', required: true, description: `name of the ${kind}` }
}

const dryRun = query('dryRun', 'string', 'All: every step is executed, but nothing is stored.')
const fieldManager = query(
  'fieldManager',
  'string',
  'Name of the manager that makes the change; at most 128 printable characters.',
)
const fieldValidation = query(
  'fieldValidation',
  'string',
  'How to handle unknown or duplicate fields: Ignore, Warn (the default) or Strict.',
)
const resourceVersion = query(
  'resourceVersion',
  'string',
  'Constraint on the resource version of the response.',
)

export const read: readonly Parameter[] = [resourceVersion]
export const write: readonly Parameter[] = [dryRun, fieldManager, fieldValidation]
export const patch: readonly Parameter[] = [
  ...write,
  query('force', 'boolean', 'Apply takes over fields that are owned by other managers.'),
]

export const remove: readonly Parameter[] = [
  dryRun,
  query(
    'gracePeriodSeconds',
    'integer',
    'Grace period in seconds before the object is deleted; 0 deletes immediately.',
  ),
  query(
    'ignoreStoreReadErrorWithClusterBreakingPotential',
    'boolean',
    'Removes an object that cannot be read from the store, regardless of finalizers.',
  ),
  query('orphanDependents', 'boolean', 'Deprecated: use propagationPolicy.'),
  query('propagationPolicy', 'string', 'How dependents are deleted: Orphan, Background or Foreground.'),
]

export const list: readonly Parameter[] = [
  query('continue', 'string', 'Continue token of the previous page of the list.'),
  query('fieldSelector', 'string', 'Selector for objects, by their fields.'),
  query('labelSelector', 'string', 'Selector for objects, by their labels.'),
  query('limit', 'integer', 'Maximum number of objects in the response.'),
  resourceVersion,
  query('resourceVersionMatch', 'string', 'How resourceVersion is applied: Exact or NotOlderThan.'),
  query(
    'sendInitialEvents',
    'boolean',
    'The watch begins with the existing objects, followed by a bookmark.',
  ),
  query('timeoutSeconds', 'integer', 'Timeout of the request in seconds.'),
]

export const listOrWatch: readonly Parameter[] = [
  query('allowWatchBookmarks', 'boolean', 'The watch may send BOOKMARK events.'),
  ...list,
  query('watch', 'boolean', 'Watch for changes and return them as a stream of events.'),
]

export function query(name: string, type: Parameter['type'], description: string): Parameter {
  return { name, in: 'query', type, description }
}
