import type { ApiError } from '../../api/errors/api-error.ts'
import { serviceUnavailable } from '../../api/errors/standard-errors.ts'
import type { Names } from '../../api/metadata/names.ts'
import type { Labels } from '../../api/selectors/label-selector.ts'
import type { AdmissionRequest } from '../../registry/calls/admission.ts'
import type { Catalog } from '../../registry/kinds/catalog.ts'
import { areVersionsOfOneKind } from '../../registry/kinds/convert-version.ts'
import type { AnyObject, ResourceDefinition } from '../../registry/kinds/definition.ts'
import { keyOf } from '../../store/key.ts'
import type { CompiledWebhook } from './compiled-webhook.ts'
import { exemptRequests } from './exempt-requests.ts'
import { matchedResource } from './match-rules.ts'
import type { MatchedResource } from './match-rules.ts'

/** A webhook, and the version of the kind in which it gets the request. */
export type WebhookMatch = {
  readonly webhook: CompiledWebhook
  readonly definition: ResourceDefinition
}

export type WebhookSetDependencies = {
  readonly names: Names
  readonly catalog: Pick<Catalog, 'all' | 'version'>
  /**
   * Returns the resource name of configurations of which this member cannot decrypt all. null, or
   * unset: it can decrypt all.
   */
  readonly unreadable?: () => string | null
}

/**
 * The webhooks of one type, in the order in which they are called: by the name of the
 * configuration, and then as listed. Which of them may get a request is computed once per kind,
 * subresource and operation.
 */
export class WebhookSet {
  readonly #webhooks: readonly CompiledWebhook[]
  readonly #catalog: WebhookSetDependencies['catalog']
  readonly #unreadable: () => string | null
  readonly #isExempt: ReturnType<typeof exemptRequests>
  /** By definition, then by operation and subresource. The kinds bound the number of entries. */
  #candidates = new WeakMap<ResourceDefinition, Map<string, readonly WebhookMatch[]>>()
  #catalogVersion = -1

  constructor(
    webhooks: readonly CompiledWebhook[],
    { names, catalog, unreadable = () => null }: WebhookSetDependencies,
  ) {
    this.#webhooks = webhooks
    this.#catalog = catalog
    this.#unreadable = unreadable
    this.#isExempt = exemptRequests(names)
  }

  get webhooks(): readonly CompiledWebhook[] {
    return this.#webhooks
  }

  /**
   * Returns the webhooks for a request, in order.
   *
   * @throws ApiError `ServiceUnavailable`: it is not known which webhooks there are
   */
  matching(request: AdmissionRequest): readonly WebhookMatch[] {
    const unreadable = this.#unreadable()
    if (unreadable !== null && !this.#isExempt(request)) throw unknownWebhooks(unreadable)
    if (this.#webhooks.length === 0) return NONE
    const candidates = this.#candidatesOf(request)
    if (candidates.length === 0 || this.#isExempt(request)) return NONE
    const namespace = new NamespaceLabels(request)
    return candidates.filter(({ webhook }) => namespace.match(webhook) && matchesObject(webhook, request))
  }

  #candidatesOf({ definition, operation, target }: AdmissionRequest): readonly WebhookMatch[] {
    if (this.#catalogVersion !== this.#catalog.version) {
      this.#catalogVersion = this.#catalog.version
      this.#candidates = new WeakMap()
    }
    let byPath = this.#candidates.get(definition)
    if (byPath === undefined) {
      byPath = new Map()
      this.#candidates.set(definition, byPath)
    }
    const subresource = target.subresource ?? ''
    const path = `${operation} ${subresource}`
    let found = byPath.get(path)
    if (found === undefined) {
      found = this.#computed(definition, operation, subresource)
      byPath.set(path, found)
    }
    return found
  }

  #computed(
    definition: ResourceDefinition,
    operation: AdmissionRequest['operation'],
    subresource: string,
  ): readonly WebhookMatch[] {
    const resource = (of: ResourceDefinition): Candidate => ({
      ...{ operation, group: of.group, version: of.version, plural: of.plural, subresource },
      isNamespaced: of.scope === 'Namespaced',
      definition: of,
    })
    const requested = resource(definition)
    const equivalents = this.#catalog
      .all()
      .filter(
        (one) =>
          one !== definition &&
          areVersionsOfOneKind(one, definition) &&
          (subresource === '' || one.subresources.some(({ name }) => name === subresource)),
      )
      .map(resource)
    return this.#webhooks.flatMap((webhook) => {
      const matched = matchedResource(webhook, requested, equivalents)
      return matched === null ? [] : [{ webhook, definition: matched.definition }]
    })
  }
}

function unknownWebhooks(resource: string): ApiError {
  const why = `some of the ${resource} cannot be decrypted by this member`
  return serviceUnavailable(`${why}, so it does not know which webhooks decide`, { retryAfterSeconds: 1 })
}

type Candidate = MatchedResource & { readonly definition: ResourceDefinition }

const NONE: readonly WebhookMatch[] = []

/** @source apiserver `pkg/admission/plugin/webhook/predicates/object/matcher.go` */
function matchesObject(
  { objectSelector }: CompiledWebhook,
  { object, oldObject }: AdmissionRequest,
): boolean {
  if (objectSelector.isEmpty) return true
  const matches = (one: AnyObject | null): boolean =>
    one !== null && objectSelector.matches(one.metadata.labels ?? null)
  return matches(object) || matches(oldObject)
}

/**
 * The labels of the namespace of a request, read when the first selector needs them.
 *
 * @source apiserver `pkg/admission/plugin/webhook/predicates/namespace/matcher.go`
 */
class NamespaceLabels {
  readonly #request: AdmissionRequest
  #labels: Labels | null | undefined

  constructor(request: AdmissionRequest) {
    this.#request = request
  }

  match({ namespaceSelector }: CompiledWebhook): boolean {
    if (namespaceSelector.isEmpty) return true
    const { definition, target } = this.#request
    // A selector of namespaces does not exclude other cluster-scoped objects.
    if (target.namespace === null && definition.isNamespaceKind !== true) return true
    if (this.#labels === undefined) this.#labels = this.#read()
    return namespaceSelector.matches(this.#labels)
  }

  #read(): Labels | null {
    const { definition, target, operation, object, oldObject, reads } = this.#request
    if (definition.isNamespaceKind === true) {
      const isChanged = target.subresource === null && operation !== 'DELETE'
      return (isChanged ? object : oldObject)?.metadata.labels ?? null
    }
    const key = keyOf({ group: '', plural: 'namespaces', namespace: '', name: target.namespace ?? '' })
    return reads.getOther(key)?.labels ?? null
  }
}
