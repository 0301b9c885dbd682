import { ApiError } from '../../api/errors/api-error.ts'
import { jsonText } from '../../api/codec/json-text.ts'
import { equalJson } from '../../api/json.ts'
import type { Admission, AdmissionRequest } from '../../registry/calls/admission.ts'
import type { AnyObject } from '../../registry/kinds/definition.ts'
import type { RemotePlugin } from '../chain.ts'
import { applyWebhookPatch } from './apply-patch.ts'
import type { CompiledWebhook } from './compiled-webhook.ts'
import type { Freshness } from './freshness.ts'
import { ReviewedObjects } from './reviewed-objects.ts'
import { warnOfSuspension } from './suspension.ts'
import type { WebhookSource } from './follow-webhooks.ts'
import type { CallFailed, WebhookCaller } from './webhook-caller.ts'
import type { WebhookMatch } from './webhook-set.ts'
import type { WebhookVerdict } from './read-response.ts'

export type MutatingWebhooksDependencies = {
  readonly source: Pick<WebhookSource, 'mutating' | 'names' | 'wallMs'>
  readonly caller: WebhookCaller
  readonly freshness: Freshness
  /**
   * Runs the mutating plugins that come before this one again, on an object that a webhook changed.
   * Unset: no plugin comes before it.
   */
  readonly reinvoke?: Admission['mutate']
}

/**
 * Calls mutating webhooks one after another, each with the object as the earlier ones left it. If
 * one changed the object, the plugins before them run once more, and so do the webhooks with the
 * policy `IfNeeded` that were called before the change.
 *
 * @source spec 4.6; apiserver `pkg/admission/plugin/webhook/mutating`
 */
export function mutatingWebhooks(dependencies: MutatingWebhooksDependencies): RemotePlugin {
  const { source, freshness } = dependencies
  return {
    name: 'MutatingAdmissionWebhook',
    callsOut: true,
    concerns: (request) => freshness.isStale(request) || source.mutating().matching(request).length > 0,
    mutate: async (request) => {
      await freshness.refresh(request)
      return new Mutation(dependencies, request).run()
    },
  }
}

/** The mutation of the object of one request by all webhooks. */
class Mutation {
  readonly #dependencies: MutatingWebhooksDependencies
  readonly #request: AdmissionRequest
  readonly #objects: ReviewedObjects
  /** The request with the object as it is by now. */
  #current: AdmissionRequest
  /** Webhooks to call again, because the object changed after their calls. */
  readonly #again = new Set<string>()
  /** Called webhooks with the policy `IfNeeded`. */
  readonly #reinvocable = new Set<string>()
  #isChanged = false

  constructor(dependencies: MutatingWebhooksDependencies, request: AdmissionRequest) {
    this.#dependencies = dependencies
    this.#request = request
    this.#current = request
    this.#objects = new ReviewedObjects(request)
  }

  async run(): Promise<AnyObject | null> {
    await this.#round(0, () => true)
    if (!this.#isChanged) return this.#current.object
    const { reinvoke } = this.#dependencies
    if (reinvoke !== undefined) {
      const before = this.#current.object
      const after = await reinvoke(this.#current)
      this.#take(after)
      if (!equalJson(before, after)) this.#requireAgain()
    }
    if (this.#again.size > 0) await this.#round(1, ({ id }) => this.#again.has(id))
    return this.#current.object
  }

  #take(object: AnyObject | null): void {
    if (object !== this.#current.object) this.#current = { ...this.#request, object }
  }

  async #round(round: number, isCalled: (webhook: CompiledWebhook) => boolean): Promise<void> {
    const { source } = this.#dependencies
    // The webhooks of a round are chosen once, as upstream.
    const matches = source.mutating().matching(this.#current)
    for (const [index, match] of matches.entries()) {
      const { webhook } = match
      if (!isCalled(webhook) || warnOfSuspension(webhook, this.#request, source.wallMs())) continue
      const isChanged = await this.#callOne(match, `round_${round}_index_${index}`)
      if (isChanged) {
        this.#isChanged = true
        this.#requireAgain()
      }
      if (webhook.isReinvoked) this.#reinvocable.add(webhook.id)
    }
  }

  #requireAgain(): void {
    for (const id of this.#reinvocable) this.#again.add(id)
  }

  /** @returns whether the webhook changed the object */
  async #callOne(match: WebhookMatch, place: string): Promise<boolean> {
    const { webhook } = match
    let taken: Taken | null
    try {
      taken = await this.#taken(match)
    } catch (cause) {
      this.#annotate(webhook, place, NOTHING)
      throw cause
    }
    this.#annotate(webhook, place, taken)
    if (taken === null || taken.changed === null) return false
    this.#take(taken.changed)
    return true
  }

  /** @returns null: the call failed, and that is ignored */
  async #taken({ webhook, definition }: WebhookMatch): Promise<Taken | null> {
    const request = this.#current
    const { object, oldObject } = request
    const objects = this.#objects
    const shown = object === null ? null : await objects.shown(object, definition)
    const old = oldObject === null ? null : await objects.shown(oldObject, definition)
    const call = {
      ...{ webhook, matched: definition, request },
      objectText: shown?.text ?? null,
      oldObjectText: old?.text ?? null,
    }
    const result = await this.#dependencies.caller.call<Taken>(call, async ({ patch }) => {
      const patched = applyWebhookPatch(shown?.object ?? null, patch ?? [])
      if (patched.kind === 'invalid') return invalidPatch(webhook, patched.why)
      if (patched.kind === 'unchanged' || object === null) {
        return { kind: 'used', value: { patch, changed: null } }
      }
      try {
        const changed = request.reshape(await objects.taken(patched.object, definition, object))
        return { kind: 'used', value: { patch, changed } }
      } catch (cause) {
        if (!(cause instanceof ApiError)) throw cause
        return invalidPatch(webhook, `returned a patch that makes the object invalid: ${cause.message}`)
      }
    })
    return result.kind === 'ignored' ? null : result.value
  }

  /** @source spec 6.2 */
  #annotate(webhook: CompiledWebhook, place: string, taken: Taken | null): void {
    const { annotate } = this.#request.context.request
    if (annotate === undefined) return
    const { names } = this.#dependencies.source
    const of = { configuration: webhook.configuration, webhook: webhook.name }
    const { mutationWebhookPrefix, patchWebhookPrefix } = names.auditAnnotations
    const mutated = taken !== null && taken.changed !== null
    annotate(`${mutationWebhookPrefix}${place}`, JSON.stringify({ ...of, mutated }))
    if (taken === null) {
      annotate(`failed-open.mutating.webhook.${names.group('admission')}/${place}`, webhook.name)
    } else if (taken.patch !== null && taken.patch.length > 0) {
      const value = { ...of, patch: taken.patch, patchType: 'JSONPatch' }
      annotate(`${patchWebhookPrefix}${place}`, jsonText(value), 'Request')
    }
  }
}

type Taken = {
  readonly patch: WebhookVerdict['patch']
  /** null: unchanged. */
  readonly changed: AnyObject | null
}

const NOTHING: Taken = { patch: null, changed: null }

function invalidPatch({ name }: CompiledWebhook, why: string): CallFailed {
  return {
    kind: 'failed',
    why: `admission webhook ${JSON.stringify(name)} ${why}`,
    errorType: 'apiserver_internal_error',
    code: 0,
    breaker: 'ignores',
  }
}
