/** Members of a Pod's spec that contain containers. */
export const containerLists = ['containers', 'initContainers', 'ephemeralContainers'] as const
