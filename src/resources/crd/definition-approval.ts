import type { Findings } from '../../api/errors/findings.ts'
import { invalid, required } from '../../api/errors/field-error.ts'
import { objectMember, textMember } from '../../api/json.ts'
import { keyPath } from '../../api/errors/field-error.ts'
import type { Names } from '../../api/metadata/names.ts'
import type { AnyObject } from '../../registry/kinds/definition.ts'

/**
 * Groups of the platform itself are protected: a definition in one needs an annotation with the URL
 * of its approval, or one that declares it unapproved. An update is not checked if the annotation
 * stays what it was: missing, invalid, a URL, or a declaration.
 *
 * @source apiextensions-apiserver `pkg/apihelpers`, GetAPIApprovalState
 */
export function checkApproval(
  definition: AnyObject,
  current: AnyObject | null,
  names: Names,
  found: Findings,
): void {
  if (!isProtected(textMember(objectMember(definition, 'spec'), 'group'), names)) return
  const key = approvalAnnotation(names)
  const given = definition.metadata.annotations?.[key] ?? ''
  const state = stateOf(given)
  if (current !== null && state === stateOf(current.metadata.annotations?.[key] ?? '')) return
  const field = keyPath('metadata.annotations', key)
  const words = `protected groups must have approval annotation ${JSON.stringify(key)}`
  if (state === 'missing') {
    found.add(required(field, words))
    return
  }
  if (state !== 'invalid') return
  found.add(invalid(field, given, `${words} with either a URL or a reason starting with "unapproved"`))
}

/** Returns `api-approved.orch.io` or `api-approved.kubernetes.io`. */
function approvalAnnotation(names: Names): string {
  return `api-approved.${labelDomain(names)}`
}

function isProtected(group: string, names: Names): boolean {
  return [names.domain, labelDomain(names)].some((domain) => group === domain || group.endsWith(`.${domain}`))
}

/** Returns the domain of annotations and labels: `orch.io` or `kubernetes.io`. */
function labelDomain(names: Names): string {
  return names.label('').slice(0, -1)
}

function stateOf(annotation: string): 'missing' | 'bypassed' | 'approved' | 'invalid' {
  if (annotation === '') return 'missing'
  if (annotation.startsWith('unapproved')) return 'bypassed'
  return /^[a-zA-Z][a-zA-Z0-9+.-]*:\/\/[^/?#]/.test(annotation) && URL.canParse(annotation)
    ? 'approved'
    : 'invalid'
}
