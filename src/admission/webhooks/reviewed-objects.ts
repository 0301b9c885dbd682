import { jsonText } from '../../api/codec/json-text.ts'
import type { AdmissionRequest } from '../../registry/calls/admission.ts'
import { convertByWebhook, convertVersion } from '../../registry/kinds/convert-version.ts'
import type { AnyObject, ResourceDefinition, ViewSubresource } from '../../registry/kinds/definition.ts'

/** An object as a webhook gets it, and its JSON. */
export type ReviewedObject = { readonly object: AnyObject; readonly text: string }

/**
 * The objects of one request in the versions of its webhooks. Each is converted and encoded once,
 * however many webhooks get it.
 */
export class ReviewedObjects {
  readonly #request: AdmissionRequest
  readonly #view: ViewSubresource | null
  #known = new WeakMap<AnyObject, Map<ResourceDefinition, Promise<ReviewedObject>>>()

  constructor(request: AdmissionRequest) {
    this.#request = request
    this.#view = viewOf(request)
  }

  /**
   * Returns an object of the request in the version of a webhook.
   *
   * @throws ApiError it cannot be converted
   */
  shown(object: AnyObject, version: ResourceDefinition): Promise<ReviewedObject> {
    let versions = this.#known.get(object)
    if (versions === undefined) {
      versions = new Map()
      this.#known.set(object, versions)
    }
    let found = versions.get(version)
    if (found === undefined) {
      found = this.#show(object, version).then((shown) => ({ object: shown, text: jsonText(shown) }))
      versions.set(version, found)
    }
    return found
  }

  /** Converts an object that a webhook changed back to the version of the request. */
  taken(changed: AnyObject, version: ResourceDefinition, before: AnyObject): AnyObject | Promise<AnyObject> {
    const { definition, objectKind } = this.#request
    if (objectKind !== undefined) return changed
    if (this.#view !== null) return this.#view.view.change(changed, before)
    return this.#converted(changed, version, definition)
  }

  async #show(object: AnyObject, version: ResourceDefinition): Promise<AnyObject> {
    const { definition, objectKind, oldObject } = this.#request
    if (objectKind !== undefined) return object
    const whole = object === oldObject ? object : withStoredMetadata(object, oldObject)
    if (this.#view !== null) return this.#view.view.show(whole)
    return this.#converted(whole, definition, version)
  }

  #converted(
    object: AnyObject,
    from: ResourceDefinition,
    to: ResourceDefinition,
  ): AnyObject | Promise<AnyObject> {
    if (to.storedAs?.webhook === undefined) return convertVersion(object, from, to)
    // The object of a deletion has the version that it is stored in.
    const { context } = this.#request
    return convertByWebhook(context.converter, object, to, context.request.deadlineMs)
  }
}

/** The pipeline sets these members after admission, but webhooks expect them. */
function withStoredMetadata(object: AnyObject, oldObject: AnyObject | null): AnyObject {
  if (oldObject === null) return object
  const { resourceVersion, managedFields } = { ...oldObject.metadata, ...object.metadata }
  const metadata = {
    ...object.metadata,
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
    ...(managedFields === undefined ? {} : { managedFields }),
  }
  return { ...object, metadata }
}

/** Returns the subresource that shows the object as another kind; null: the object is shown. */
export function viewOf({
  definition,
  target,
}: Pick<AdmissionRequest, 'definition' | 'target'>): ViewSubresource | null {
  if (target.subresource === null) return null
  const found = definition.subresources.find(({ name }) => name === target.subresource)
  return found?.view === undefined ? null : found
}
