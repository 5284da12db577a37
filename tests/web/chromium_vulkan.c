/* A stand-in for Chromium's libvk_swiftshader.so: any other Vulkan driver, named by SOLO_VULKAN_DRIVER, which
 * Chromium takes because it says to be SwiftShader. Headless Chromium takes nothing else, and SwiftShader is sixty
 * times slower than lavapipe. Records made through it must say so.                                            */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <vulkan/vulkan.h>

#define EXPORT __attribute__((visibility("default")))

typedef PFN_vkVoidFunction (*look_up)(VkInstance, const char *);
typedef VkResult (*negotiation)(uint32_t *);

static look_up of_instance, of_physical_device;
static negotiation negotiate;
static PFN_vkGetPhysicalDeviceProperties properties;
static PFN_vkGetPhysicalDeviceProperties2 properties2;

__attribute__((constructor)) static void load(void)
{
    const char *path = getenv("SOLO_VULKAN_DRIVER");
    void *driver = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!driver)
        return;
    of_instance = (look_up)dlsym(driver, "vk_icdGetInstanceProcAddr");
    of_physical_device = (look_up)dlsym(driver, "vk_icdGetPhysicalDeviceProcAddr");
    negotiate = (negotiation)dlsym(driver, "vk_icdNegotiateLoaderICDInterfaceVersion");
}

static void rename_device(VkPhysicalDeviceProperties *p)
{
    p->vendorID = 0x1AE0;
    p->deviceID = 0xC0DE;
}

static void renamed_properties(VkPhysicalDevice d, VkPhysicalDeviceProperties *p)
{
    properties(d, p);
    rename_device(p);
}

static void renamed_properties2(VkPhysicalDevice d, VkPhysicalDeviceProperties2 *p)
{
    properties2(d, p);
    rename_device(&p->properties);
}

static PFN_vkVoidFunction find(look_up in, VkInstance i, const char *name)
{
    PFN_vkVoidFunction found = in ? in(i, name) : NULL;
    if (!found)
        return NULL;
    if (strcmp(name, "vkGetPhysicalDeviceProperties") == 0) {
        properties = (PFN_vkGetPhysicalDeviceProperties)found;
        return (PFN_vkVoidFunction)renamed_properties;
    }
    if (strcmp(name, "vkGetPhysicalDeviceProperties2") == 0 || strcmp(name, "vkGetPhysicalDeviceProperties2KHR") == 0) {
        properties2 = (PFN_vkGetPhysicalDeviceProperties2)found;
        return (PFN_vkVoidFunction)renamed_properties2;
    }
    return found;
}

EXPORT PFN_vkVoidFunction vkGetInstanceProcAddr(VkInstance i, const char *name)
{
    return strcmp(name, "vkGetInstanceProcAddr") == 0 ? (PFN_vkVoidFunction)vkGetInstanceProcAddr
                                                      : find(of_instance, i, name);
}

EXPORT PFN_vkVoidFunction vk_icdGetInstanceProcAddr(VkInstance i, const char *name)
{
    return find(of_instance, i, name);
}

EXPORT PFN_vkVoidFunction vk_icdGetPhysicalDeviceProcAddr(VkInstance i, const char *name)
{
    return find(of_physical_device, i, name);
}

EXPORT VkResult vk_icdNegotiateLoaderICDInterfaceVersion(uint32_t *version)
{
    return negotiate ? negotiate(version) : VK_ERROR_INCOMPATIBLE_DRIVER;
}
