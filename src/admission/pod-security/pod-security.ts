import { isDeepStrictEqual } from 'node:util'
import { forbidden } from '../../api/errors/standard-errors.ts'
import { invalidObject } from '../../api/errors/field-error.ts'
import { Findings } from '../../api/errors/findings.ts'
import { equalJson, isJsonObject, memberOf, objectMember, textMember } from '../../api/json.ts'
import type { JsonObject } from '../../api/json.ts'
import type { Names } from '../../api/metadata/names.ts'
import type { AdmissionContext } from '../../registry/calls/admission-context.ts'
import type { AdmissionRequest } from '../../registry/calls/admission.ts'
import { resourceOf } from '../../registry/kinds/definition.ts'
import type { AnyObject } from '../../registry/kinds/definition.ts'
import { parseStored } from '../../registry/kinds/encode.ts'
import { keyOf } from '../../store/key.ts'
import type { StoredObject } from '../../store/object-store.ts'
import type { AdmissionPlugin } from '../chain.ts'
import { mainContainers } from '../pods.ts'
import type { CheckedPod } from './check.ts'
import type { PodSecurityConfiguration } from './configuration.ts'
import { spellViolations, violationsOf } from './evaluate.ts'
import { warningsOfExistingPods } from './existing-pods.ts'
import { isSamePolicy, LEVELS, policiesOf, spellPolicy } from './policy.ts'
import type { Policies, Policy } from './policy.ts'
import { templateOf } from './templates.ts'

export type PodSecurityDependencies = {
  readonly names: Names
  readonly configuration: PodSecurityConfiguration
}

/**
 * Compares Pods with the levels that labels of their namespace set, and refuses them, only warns of
 * violations, or notes violations in the audit log. Templates of Pods are never refused.
 *
 * @source upstream `k8s.io/pod-security-admission`
 */
export function podSecurity(dependencies: PodSecurityDependencies): AdmissionPlugin {
  return {
    name: 'PodSecurity',
    validate: (request) => {
      const { definition, target, operation, object } = request
      if (object === null || (operation !== 'CREATE' && operation !== 'UPDATE')) return
      if (definition.isNamespaceKind === true && target.subresource === null) {
        validateNamespace(dependencies, request, object)
        return
      }
      const isPod = definition.group === '' && definition.plural === 'pods'
      if (isPod && (target.subresource === null || target.subresource === 'ephemeralcontainers')) {
        if (isSignificant(dependencies.names, object, request.oldObject))
          evaluate(dependencies, request, object, true)
        return
      }
      const template = target.subresource === null ? templateOf(definition, object) : null
      if (template !== null) evaluate(dependencies, request, template, false)
    },
  }
}

type Template = { readonly metadata: JsonObject; readonly spec: JsonObject }

/** @param pod a whole Pod, or the template of one. @throws ApiError `Forbidden` */
function evaluate(
  { names, configuration }: PodSecurityDependencies,
  request: AdmissionRequest,
  pod: AnyObject | Template,
  isEnforced: boolean,
): void {
  const { context, target } = request
  const namespace = target.namespace ?? ''
  const policies = storedPolicies(names, configuration.defaults, request, namespace)
  if (policies === null || isPrivileged(policies)) return
  const note = (key: string, value: string): void =>
    context.request.annotate?.(names.labelUnder('pod-security', key), value)
  const checked = checkedPod(pod, names)
  const exempt = exemptionOf(configuration, context, namespace, checked)
  if (exempt !== null) {
    note('exempt', exempt)
    return
  }
  if (isEnforced) {
    note('enforce-policy', spellPolicy(policies.enforce))
    const found = spellViolations(violationsOf(policies.enforce, checked))
    noteAudit(policies.audit, checked, note)
    if (found !== '') {
      const why = `violates PodSecurity ${JSON.stringify(spellPolicy(policies.enforce))}: ${found}`
      const name = textMember(objectMember(pod, 'metadata'), 'name')
      throw forbidden(resourceOf(request.definition), name || (target.name ?? ''), why)
    }
  } else {
    noteAudit(policies.audit, checked, note)
  }
  const warned = spellViolations(violationsOf(policies.warn, checked))
  if (warned !== '') warnOnce(context, wouldViolate(policies.warn, warned))
}

function noteAudit(policy: Policy, checked: CheckedPod, note: (key: string, value: string) => void): void {
  const found = spellViolations(violationsOf(policy, checked))
  if (found !== '') note('audit-violations', wouldViolate(policy, found))
}

function wouldViolate(policy: Policy, found: string): string {
  return `would violate PodSecurity ${JSON.stringify(spellPolicy(policy))}: ${found}`
}

function isPrivileged({ enforce, audit, warn }: Policies): boolean {
  return [enforce, audit, warn].every(({ level }) => level === 'privileged')
}

function checkedPod(pod: AnyObject | Template, names: Names): CheckedPod {
  const annotations = memberOf(objectMember(pod, 'metadata'), 'annotations')
  return {
    annotations: isJsonObject(annotations) ? (annotations as Readonly<Record<string, string>>) : {},
    spec: objectMember(pod, 'spec'),
    names,
  }
}

/** @returns null: a policy applies */
function exemptionOf(
  { exemptions }: PodSecurityConfiguration,
  { request }: AdmissionContext,
  namespace: string,
  { spec }: CheckedPod,
): string | null {
  if (exemptions.namespaces.has(namespace)) return 'namespace'
  if (exemptions.usernames.has(request.user.name)) return 'user'
  return exemptions.runtimeClasses.has(textMember(spec, 'runtimeClassName')) ? 'runtimeClass' : null
}

/** A namespace is read once per version; the entry lives as long as the version. */
const known = new WeakMap<StoredObject, { readonly defaults: Policies; readonly policies: Policies }>()

/** @returns null: there is no such namespace */
function storedPolicies(
  names: Names,
  defaults: Policies,
  { reads }: AdmissionRequest,
  namespace: string,
): Policies | null {
  if (namespace.includes('/')) return null
  const stored = reads.getOther(keyOf({ group: '', plural: 'namespaces', namespace: '', name: namespace }))
  if (stored === null) return null
  const found = known.get(stored)
  if (found?.defaults === defaults) return found.policies
  const policies = policiesOf(parseStored(stored).metadata.labels ?? {}, defaults, names, null)
  known.set(stored, { defaults, policies })
  return policies
}

/** Evaluations are repeated; their warnings are not. */
const warned = new WeakMap<AdmissionContext, Set<string>>()

function warnOnce(context: AdmissionContext, text: string): void {
  const texts = warned.get(context) ?? new Set()
  warned.set(context, texts)
  if (texts.has(text)) return
  texts.add(text)
  context.request.warn(text)
}

/**
 * Returns whether an update changes the containers of a Pod, other than their images, or the
 * profiles in its annotations: no update changes other fields that checks read. Other updates are
 * not checked, because the level may be newer than the Pod.
 */
function isSignificant(names: Names, pod: AnyObject, oldPod: AnyObject | null): boolean {
  if (oldPod === null) return true
  const shapeOf = (of: AnyObject): JsonObject => {
    const spec = objectMember(of, 'spec')
    const containers = [...mainContainers(spec), ...listOf(spec, 'ephemeralContainers')]
    return { containers: containers.map((container) => ({ ...container, image: '' })) }
  }
  const profiles = [
    'container.apparmor.security.beta',
    'container.seccomp.security.alpha',
    'seccomp.security.alpha',
  ]
  const prefixes = profiles.map((profile) => names.labelUnder(profile, ''))
  const profilesOf = ({ metadata: { annotations = {} } }: AnyObject): JsonObject =>
    Object.fromEntries(
      Object.entries(annotations).filter(([key]) => prefixes.some((prefix) => key.startsWith(prefix))),
    )
  return !equalJson(shapeOf(pod), shapeOf(oldPod)) || !equalJson(profilesOf(pod), profilesOf(oldPod))
}

function listOf(spec: JsonObject, name: string): readonly JsonObject[] {
  const list = memberOf(spec, name)
  return Array.isArray(list) ? (list as readonly JsonObject[]) : []
}

/** Refuses labels that cannot be read, and warns of existing Pods that a new level would refuse. */
function validateNamespace(
  { names, configuration }: PodSecurityDependencies,
  request: AdmissionRequest,
  namespace: AnyObject,
): void {
  const { definition, oldObject, context, reads } = request
  const { defaults, exemptions } = configuration
  const { name = '' } = namespace.metadata
  const found = new Findings()
  const policies = policiesOf(namespace.metadata.labels ?? {}, defaults, names, found)
  const before = new Findings()
  const old = policiesOf(oldObject?.metadata.labels ?? {}, defaults, names, before)
  const isKnown = oldObject !== null && isDeepStrictEqual(found.list, before.list)
  // Labels that were wrong before the plugin was enabled do not block other changes.
  if (found.list.length > 0 && !isKnown) throw invalidObject(definition, name, found.list)
  if (oldObject === null || isSamePolicy(policies.enforce, old.enforce)) return
  const { enforce } = policies
  const isRelaxed =
    enforce.minor === old.enforce.minor && LEVELS.indexOf(enforce.level) <= LEVELS.indexOf(old.enforce.level)
  if (enforce.level === 'privileged' || isRelaxed || exemptions.namespaces.has(name)) return
  for (const text of warningsOfExistingPods({ reads, names, exemptions }, name, enforce))
    warnOnce(context, text)
}
